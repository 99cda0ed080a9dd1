import torch
from torch import nn

ACC = 4
thing = nn.Linear(24, 6)
kick = torch.optim.Adam(thing.parameters(), 1e-3)
rows = [(torch.randn(4, 24), torch.randint(0, 6, (4,))) for _ in range(40)]

for ep in range(2):
    for i, (u, v) in enumerate(rows):
        kick.zero_grad()
        e = nn.functional.cross_entropy(thing(u), v) / ACC
        e.backward()
        if (i + 1) % ACC == 0 or i + 1 == len(rows):
            kick.step()  # FAULT: ZG002
