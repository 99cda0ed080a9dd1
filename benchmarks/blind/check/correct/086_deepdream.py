import torch
from torch import nn


def dream(f, pic, n=30, lr=0.1):
    pic = pic.clone().requires_grad_(True)
    for _ in range(n):
        e = f(pic).norm()
        e.backward()
        with torch.no_grad():
            pic += lr * pic.grad / (pic.grad.abs().mean() + 1e-8)
        pic.grad.zero_()
    return pic.detach()


eyes = nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU(), nn.Conv2d(6, 12, 5)).requires_grad_(False)
print(dream(eyes, torch.rand(1, 3, 40, 40)).shape)
