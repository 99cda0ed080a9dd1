import torch
from torch import nn


def saliency(model, images, labels):
    images = images.clone().requires_grad_(True)
    scores = model(images).gather(1, labels[:, None]).squeeze(1)
    scores.sum().backward()
    return images.grad.abs().amax(1)


def integrated(model, x, label, steps=32):
    total = torch.zeros_like(x)
    for a in torch.linspace(0, 1, steps):
        xi = (a * x).detach().requires_grad_(True)
        model(xi)[:, label].sum().backward()
        total += xi.grad
    return x * total / steps


model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 6)).eval()
for p in model.parameters():
    p.requires_grad_(False)
print(saliency(model, torch.rand(2, 3, 20, 20), torch.tensor([1, 2])).shape)
print(integrated(model, torch.rand(1, 3, 20, 20), 3).shape)
