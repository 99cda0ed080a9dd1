import torch
from torch import nn


class Maker(nn.Module):
    def __init__(self, z=8, d=20):
        super().__init__()
        self.z = z
        self.f = nn.Sequential(nn.Linear(z, 40), nn.SiLU(), nn.Linear(40, d))

    def forward(self, n):
        return self.f(torch.randn(n, self.z))


class Judge(nn.Module):
    def __init__(self, d=20):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 40), nn.SiLU(), nn.Linear(40, 1))

    def forward(self, x):
        return self.f(x).squeeze(-1)
