import torch
from torch import nn

model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 3))
for p in model.parameters():
    p.requires_grad_(False)
x, y = torch.rand(4, 10), torch.randint(0, 3, (4,))
delta = torch.zeros_like(x, requires_grad=True)
for _ in range(20):
    loss = nn.functional.cross_entropy(model(x + delta), y)
    loss.backward()
    delta.data = (delta + 0.01 * delta.grad.sign()).clamp(-0.1, 0.1)  # FAULT: ZG001
print(model(x + delta.detach()).argmax(-1))
