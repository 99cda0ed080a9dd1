import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

alpha0 = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 1))
mo = torch.optim.Adam(alpha0.parameters(), lr=1e-3)
INNER, TASKS = 0.01, 4


def sample_task():
    amp, phase = torch.rand(1) * 5, torch.rand(1) * 3.14
    f = lambda x: amp * torch.sin(x + phase)
    xs, xq = torch.rand(10, 1) * 10 - 5, torch.rand(10, 1) * 10 - 5
    return xs, f(xs), xq, f(xq)


for step in range(1000):
    ml_ = 0.0
    for _ in range(TASKS):
        xs, ys, xq, yq = sample_task()
        ff = dict(alpha0.named_parameters())
        for _ in range(2):
            gamma = F.mse_loss(functional_call(alpha0, ff, (xs,)), ys)
            grads = torch.autograd.grad(gamma, tuple(ff.values()), create_graph=True)
            ff = {k: w - INNER * g for (k, w), g in zip(ff.items(), grads)}
        ml_ = ml_ + F.mse_loss(functional_call(alpha0, ff, (xq,)), yq)
    mo.zero_grad()
    (ml_ / TASKS).backward()
    mo.step()
