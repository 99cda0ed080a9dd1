import torch
from torch import nn

K = 4
thing = nn.Linear(30, 10)
kick = torch.optim.SGD(thing.parameters(), lr=0.1)
rows = [(torch.randn(4, 30), torch.randint(0, 10, (4,))) for _ in range(64)]
kick.zero_grad()
for i, (u, v) in enumerate(rows):
    e = nn.functional.cross_entropy(thing(u), v) / K
    e.backward()
    nn.utils.clip_grad_norm_(thing.parameters(), 1.0)  # FAULT: ZG302
    if (i + 1) % K == 0 or i + 1 == len(rows):
        kick.step()
        kick.zero_grad()
