from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def turn(o, *, net=None, limit=None):
    o.zero_grad()
    yield
    if limit:
        nn.utils.clip_grad_norm_(net.parameters(), limit)
    o.step()


k = nn.Conv1d(2, 4, 3, padding=1)
o = torch.optim.Adagrad(k.parameters(), lr=0.05)
for r in range(200):
    s = torch.randn(5, 2, 11)
    with turn(o, net=k, limit=2.0):
        (k(s).sum(1) - s.mean(1)).pow(2).mean().backward()
