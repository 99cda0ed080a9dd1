import torch
from torch import autograd, nn

LAMBDA, CRITIC = 10, 5
p1 = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
p2 = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
k2 = torch.optim.Adam(p2.parameters(), 1e-4, betas=(0.0, 0.9))
k1 = torch.optim.Adam(p1.parameters(), 1e-4, betas=(0.0, 0.9))


def gradient_penalty(true_, made):
    eps = torch.rand(true_.size(0), 1)
    mix = (eps * true_ + (1 - eps) * made).requires_grad_(True)
    out = p2(mix)
    (g,) = autograd.grad(out, mix, torch.ones_like(out), create_graph=True, retain_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def a9():
    while True:
        yield torch.randn(64, 2) + 3


stream = a9()
for it in range(2000):
    for p in p2.parameters():
        p.requires_grad_(True)
    for _ in range(CRITIC):
        true_ = next(stream)
        with torch.no_grad():
            made = p1(torch.randn(64, 16))
        p2.zero_grad()
        v2 = p2(made).mean() - p2(true_).mean() + LAMBDA * gradient_penalty(true_, made)
        v2.backward()
        k2.step()
    for p in p2.parameters():
        p.requires_grad_(False)
    p1.zero_grad()
    v1 = -p2(p1(torch.randn(64, 16))).mean()
    v1.backward()
    k1.step()
