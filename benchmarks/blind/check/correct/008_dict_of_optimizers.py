import torch
from torch import nn
import torch.nn.functional as F

nets = nn.ModuleDict({
    "enc": nn.Linear(32, 16),
    "dec": nn.Linear(16, 32),
    "cls": nn.Linear(16, 4),
})
optimizers = {name: torch.optim.Adam(m.parameters(), lr=1e-3) for name, m in nets.items()}


def zero_all():
    for opt in optimizers.values():
        opt.zero_grad()


def step_all():
    for opt in optimizers.values():
        opt.step()


for it in range(1000):
    x = torch.randn(8, 32)
    y = torch.randint(0, 4, (8,))
    zero_all()
    h = torch.relu(nets["enc"](x))
    loss = F.mse_loss(nets["dec"](h), x) + 0.5 * F.cross_entropy(nets["cls"](h), y)
    loss.backward()
    step_all()
    if it % 100 == 0:
        print(it, loss.item())
