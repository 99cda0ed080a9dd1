import torch
from torch import nn

thing = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 2))
kinds = {"warm": lambda: torch.optim.Adam(thing.parameters(), 1e-3), "main": lambda: torch.optim.SGD(thing.parameters(), 1e-2, momentum=0.9)}
plan = [("warm", 50), ("main", 200)]

for label, n in plan:
    mover = kinds[label]()
    for _ in range(n):
        a = torch.randn(10, 6)
        thing.zero_grad()
        thing(a).square().mean().backward()
        mover.step()
