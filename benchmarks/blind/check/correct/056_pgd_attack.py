import torch
from torch import nn


def wiggle(f, u, t, e=8 / 255, a=2 / 255, n=10):
    v = u + torch.empty_like(u).uniform_(-e, e)
    v = v.clamp(0, 1)
    for _ in range(n):
        v.requires_grad_(True)
        with torch.enable_grad():
            c = nn.functional.cross_entropy(f(v), t)
        g = torch.autograd.grad(c, [v])[0]
        v = v.detach() + a * g.sign()
        v = torch.min(torch.max(v, u - e), u + e).clamp(0, 1)
    return v.detach()


f = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(8, 10))
o = torch.optim.SGD(f.parameters(), 0.1, momentum=0.9)
for i in range(20):
    u, t = torch.rand(4, 3, 16, 16), torch.randint(0, 10, (4,))
    o.zero_grad()
    w = wiggle(f, u, t)
    nn.functional.cross_entropy(f(w), t).backward()
    o.step()
