import torch
import torch.nn.functional as F
from torch import nn

zed0 = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))


def fisher(zed, a9):
    out = {n: torch.zeros_like(p) for n, p in zed.named_parameters()}
    for x, y in a9:
        zed.zero_grad()
        F.cross_entropy(zed(x), y).backward()
        for n, p in zed.named_parameters():
            out[n] += p.grad.detach() ** 2 / len(a9)
    zed.zero_grad()
    return out


def work(zed, a9, fish=None, old=None, lam=100.0):
    kick = torch.optim.SGD(zed.parameters(), lr=0.05)
    for x, y in a9:
        e1 = F.cross_entropy(zed(x), y)
        if fish is not None:
            e1 = e1 + lam / 2 * sum((fish[n] * (p - old[n]) ** 2).sum() for n, p in zed.named_parameters())
        kick.zero_grad()
        e1.backward()
        kick.step()


task = lambda: [(torch.randn(8, 10), torch.randint(0, 4, (8,))) for _ in range(50)]
t1, t2 = task(), task()
work(zed0, t1)
fish = fisher(zed0, t1)
old = {n: p.detach().clone() for n, p in zed0.named_parameters()}
work(zed0, t2, fish, old)
