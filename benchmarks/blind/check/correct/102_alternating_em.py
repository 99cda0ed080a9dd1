import torch
from torch import nn

left, right = nn.Linear(5, 5), nn.Linear(5, 5)
a, b = torch.optim.SGD(left.parameters(), 0.1), torch.optim.SGD(right.parameters(), 0.1)
data = torch.randn(100, 5)

for it in range(40):
    active, idle, opt = (left, right, a) if it % 2 == 0 else (right, left, b)
    active.requires_grad_(True)
    idle.requires_grad_(False)
    for chunk in data.split(25):
        opt.zero_grad()
        (right(left(chunk)) - chunk).pow(2).mean().backward()
        opt.step()
