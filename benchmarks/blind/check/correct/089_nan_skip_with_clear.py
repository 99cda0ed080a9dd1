import torch
from torch import nn


def finite(mod):
    return all(torch.isfinite(p.grad).all() for p in mod.parameters() if p.grad is not None)


mod = nn.Sequential(nn.Linear(4, 4), nn.Softplus(), nn.Linear(4, 1))
kick = torch.optim.Adam(mod.parameters(), lr=1e-2)
skipped = 0
for z in [torch.randn(6, 4) for _ in range(200)]:
    mod(z).log1p().mean().backward()
    if finite(mod):
        kick.step()
    else:
        skipped += 1
    kick.zero_grad()
print("skipped", skipped)
