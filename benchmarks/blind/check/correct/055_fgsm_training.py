import torch
import torch.nn.functional as F
from torch import nn

m_ = nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
p_ = torch.optim.SGD(m_.parameters(), lr=0.1)


def fgsm(m_, x, y, eps):
    delta = torch.zeros_like(x, requires_grad=True)
    l_ = F.cross_entropy(m_(x + delta), y)
    l_.backward()
    return eps * delta.grad.detach().sign()


def epoch(d_, eps=0.1):
    total = 0.0
    for x, y in d_:
        delta = fgsm(m_, x, y, eps)
        l_ = F.cross_entropy(m_((x + delta).clamp(0, 1)), y)
        p_.zero_grad()       # also drops what the attack left
        l_.backward()
        p_.step()
        total += l_.item() * len(x)
    return total


print(epoch([(torch.rand(16, 1, 28, 28), torch.randint(0, 10, (16,))) for _ in range(10)]))
