import torch
from torch import nn

g = nn.Linear(12, 12)
base = torch.optim.Adam(g.parameters(), 1e-3)
rho = 0.1

for _ in range(60):
    t = torch.randn(9, 12)
    base.zero_grad()
    (g(t) - t).abs().mean().backward()
    with torch.no_grad():
        total = torch.sqrt(sum(p.grad.pow(2).sum() for p in g.parameters())) + 1e-12
        bump = [rho * p.grad / total for p in g.parameters()]
        for p, e in zip(g.parameters(), bump):
            p.add_(e)
    base.zero_grad()
    (g(t) - t).abs().mean().backward()
    with torch.no_grad():
        for p, e in zip(g.parameters(), bump):
            p.sub_(e)
    base.step()
