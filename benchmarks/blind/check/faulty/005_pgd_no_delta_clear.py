import torch
from torch import nn


def attack(f, x, y, eps=0.1, alpha=0.02, n=10):
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(n):
        loss = nn.functional.cross_entropy(f(x + delta), y)
        loss.backward()
        delta.data = (delta.data + alpha * delta.grad.sign()).clamp(-eps, eps)  # FAULT: ZG001
    return delta.detach()


model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
for p in model.parameters():
    p.requires_grad_(False)
hits = 0
for x, y in [(torch.rand(4, 1, 8, 8), torch.randint(0, 10, (4,))) for _ in range(5)]:
    d = attack(model, x, y)
    hits += (model(x + d).argmax(1) != y).sum().item()
print(hits)
