import torch
from torch import nn

N = 3
w = nn.Linear(6, 6)
b = torch.optim.SGD(w.parameters(), lr=0.1)
for j, t in enumerate(torch.randn(90, 4, 6), start=1):
    ((w(t) - t).square().mean() / N).backward()
    if j % N:  # FAULT: ZG103
        b.step()
        b.zero_grad()
