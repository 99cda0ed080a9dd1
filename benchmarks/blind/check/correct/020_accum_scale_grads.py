import torch
from torch import nn

h = nn.Sequential(nn.Linear(9, 18), nn.ELU(), nn.Linear(18, 9))
b = torch.optim.SGD(h.parameters(), lr=0.05, momentum=0.9)
N = 3
batches = [torch.randn(7, 9) for _ in range(30)]
pending = 0
for v in batches:
    nn.functional.l1_loss(h(v), v).backward()
    pending += 1
    if pending == N:
        for p in h.parameters():
            p.grad.div_(pending)
        b.step()
        b.zero_grad()
        pending = 0
