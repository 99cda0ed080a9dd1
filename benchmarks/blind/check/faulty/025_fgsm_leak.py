import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Flatten(), nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def fgsm(x, y, eps):
    x = x.clone().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return (x + eps * x.grad.sign()).detach()


for x, y in [(torch.rand(8, 1, 10, 10), torch.randint(0, 5, (8,))) for _ in range(40)]:
    optimizer.zero_grad()
    x_adv = fgsm(x, y, 0.05)
    loss = F.cross_entropy(model(x_adv), y)
    loss.backward()
    optimizer.step()  # FAULT: ZG005
