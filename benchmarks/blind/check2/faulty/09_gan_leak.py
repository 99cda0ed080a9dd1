import torch
from torch import nn
from dataclasses import dataclass


@dataclass
class Side:
    net: nn.Module
    opt: torch.optim.Optimizer


def side(net, lr=2e-4):
    return Side(net, torch.optim.Adam(net.parameters(), lr=lr))


gen = side(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)))
dis = side(nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1)))
for it in range(1000):
    real = torch.randn(32, 2)
    gen.opt.zero_grad()
    dis.opt.zero_grad()
    fake = gen.net(torch.randn(32, 8))
    g_loss = nn.functional.softplus(-dis.net(fake)).mean()
    g_loss.backward()
    gen.opt.step()
    d_loss = nn.functional.softplus(-dis.net(real)).mean() + nn.functional.softplus(dis.net(fake.detach())).mean()
    d_loss.backward()
    dis.opt.step()  # FAULT: ZG005
