import time

import torch
from torch import nn


def clock(fn, n):
    fn()
    t = time.perf_counter()
    for _ in range(n):
        fn()
    return (time.perf_counter() - t) / n


conv = nn.Conv2d(16, 16, 3)
inp = torch.randn(4, 16, 32, 32)


def fwd():
    with torch.no_grad():
        conv(inp)


def both():
    conv.zero_grad()
    conv(inp).sum().backward()


print("fwd", clock(fwd, 50), "fwd+bwd", clock(both, 50))
