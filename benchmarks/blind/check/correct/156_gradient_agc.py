import torch
from torch import nn


def unitwise(x):
    return x.norm(2, dim=tuple(range(1, x.ndim)), keepdim=True) if x.ndim > 1 else x.abs()


def adaptive_clip(ps, factor=0.01, eps=1e-3):
    for p in ps:
        if p.grad is None:
            continue
        g = p.grad.detach()
        top = unitwise(p.detach()).clamp_(min=eps).mul_(factor)
        n = unitwise(g)
        p.grad.detach().copy_(torch.where(n < top, g, g * (top / n.clamp(min=1e-6))))


w1 = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
s1 = torch.optim.SGD(w1.parameters(), 0.2, nesterov=True, momentum=0.9)
for _ in range(50):
    s1.zero_grad()
    nn.functional.cross_entropy(w1(torch.randn(5, 1, 8, 8)), torch.randint(0, 3, (5,))).backward()
    adaptive_clip(w1.parameters())
    s1.step()
