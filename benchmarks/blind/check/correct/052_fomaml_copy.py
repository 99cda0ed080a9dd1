import copy

import torch
from torch import nn

theta = nn.Linear(6, 2)
boss = torch.optim.SGD(theta.parameters(), lr=0.01)


def adapt(src, sup, n):
    child = copy.deepcopy(src)
    inner = torch.optim.SGD(child.parameters(), lr=0.1)
    for _ in range(n):
        inner.zero_grad()
        nn.functional.mse_loss(child(sup[0]), sup[1]).backward()
        inner.step()
    inner.zero_grad()
    return child


for epoch in range(50):
    boss.zero_grad()
    tasks = [tuple(torch.randn(5, d) for d in (6, 2, 6, 2)) for _ in range(4)]
    for a, b, c, d in tasks:
        child = adapt(theta, (a, b), 3)
        nn.functional.mse_loss(child(c), d).backward()
        for p, q in zip(theta.parameters(), child.parameters()):
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            p.grad.add_(q.grad / len(tasks))
    boss.step()
