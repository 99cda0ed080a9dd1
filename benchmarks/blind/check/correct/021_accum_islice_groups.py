from itertools import islice

import torch
from torch import nn


def grouped(it, n):
    it = iter(it)
    while chunk := list(islice(it, n)):
        yield chunk


zed = nn.Conv2d(3, 6, 3)
kick = torch.optim.Adam(zed.parameters())
stream = (torch.randn(2, 3, 12, 12) for _ in range(103))

for group in grouped(stream, 10):
    kick.zero_grad()
    for images in group:
        e1 = zed(images).pow(2).mean() / len(group)
        e1.backward()
    kick.step()
