import torch
from torch import nn
import torch.nn.functional as F


def fgsm(model, x, y, eps):
    delta = torch.zeros_like(x).uniform_(-eps, eps).requires_grad_(True)
    loss = F.cross_entropy(model(x + delta), y)
    loss.backward()
    g = delta.grad.detach()
    delta.data = (delta + eps * g.sign()).clamp(-eps, eps)
    return (x + delta).detach()


def pgd(model, x, y, eps, steps=5):
    delta = torch.zeros_like(x)
    for _ in range(steps):
        delta.requires_grad_(True)
        (g,) = torch.autograd.grad(F.cross_entropy(model(x + delta), y), delta)
        delta = (delta + eps / 4 * g.sign()).clamp(-eps, eps).detach()
    return x + delta


def run():
    model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 5))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for it in range(200):
        x, y = torch.rand(16, 20), torch.randint(0, 5, (16,))
        attack = fgsm if it % 2 else pgd
        adv = attack(model, x, y, 0.03)
        opt.zero_grad()
        F.cross_entropy(model(adv), y).backward()
        opt.step()


run()
