import math

import torch
from torch import nn

bnn = nn.Sequential(nn.Linear(1, 30), nn.Tanh(), nn.Linear(30, 1))
X = torch.linspace(-2, 2, 60)[:, None]
Y = X.pow(3) + torch.randn_like(X)
samples, lr = [], 1e-4
for k in range(4000):
    bnn.zero_grad(set_to_none=True)
    nll = 0.5 * (bnn(X) - Y).pow(2).sum()
    prior = 0.5 * sum(p.pow(2).sum() for p in bnn.parameters())
    (nll + prior).backward()
    with torch.no_grad():
        for p in bnn.parameters():
            p.add_(p.grad, alpha=-lr / 2)
            p.add_(torch.randn_like(p), alpha=math.sqrt(lr))
    if k > 2000 and k % 100 == 0:
        samples.append([p.detach().clone() for p in bnn.parameters()])
