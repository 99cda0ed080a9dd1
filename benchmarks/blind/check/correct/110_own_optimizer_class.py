import torch
from torch import nn


class Lion:
    def __init__(self, ps, lr=1e-4, b1=0.9, b2=0.99):
        self.ps = list(ps)
        self.m = [torch.zeros_like(p) for p in self.ps]
        self.lr, self.b1, self.b2 = lr, b1, b2

    @torch.no_grad()
    def step(self):
        for p, m in zip(self.ps, self.m):
            if p.grad is None:
                continue
            u = (m * self.b1 + p.grad * (1 - self.b1)).sign_()
            p.add_(u, alpha=-self.lr)
            m.mul_(self.b2).add_(p.grad, alpha=1 - self.b2)

    def zero_grad(self):
        for p in self.ps:
            if p.grad is not None:
                p.grad.detach_()
                p.grad.zero_()


q = nn.Linear(7, 7)
lion = Lion(q.parameters())
for _ in range(80):
    x = torch.randn(5, 7)
    lion.zero_grad()
    (q(x) - x).abs().sum().backward()
    lion.step()
