import torch
from torch import nn

alpha0 = nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 5))
masks = {n: torch.ones_like(p) for n, p in alpha0.named_parameters() if p.ndim > 1}
rewind = {n: p.detach().clone() for n, p in alpha0.named_parameters()}


def sparsify(frac):
    for n, p in alpha0.named_parameters():
        if n in masks:
            alive = p.detach().abs()[masks[n].bool()]
            masks[n] *= (p.detach().abs() > alive.quantile(frac)).float()


def go(n):
    beta = torch.optim.SGD(alpha0.parameters(), lr=0.1)
    for _ in range(n):
        x, y = torch.randn(32, 20), torch.randint(0, 5, (32,))
        beta.zero_grad()
        nn.functional.cross_entropy(alpha0(x), y).backward()
        for name, p in alpha0.named_parameters():
            if name in masks:
                p.grad.mul_(masks[name])
        beta.step()


for rnd in range(4):
    go(100)
    sparsify(0.2)
    with torch.no_grad():
        for n, p in alpha0.named_parameters():
            p.copy_(rewind[n] * masks.get(n, 1.0))
