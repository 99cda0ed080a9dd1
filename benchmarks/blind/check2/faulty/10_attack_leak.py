import torch
from torch import nn
import torch.nn.functional as F


def fgsm(model, x, y, eps=0.1):
    x = x.clone().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return (x + eps * x.grad.sign()).detach()


model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for it in range(200):
    x, y = torch.rand(16, 20), torch.randint(0, 5, (16,))
    opt.zero_grad()
    adv = fgsm(model, x, y)
    loss = F.cross_entropy(model(adv), y)
    loss.backward()
    opt.step()  # FAULT: ZG005
