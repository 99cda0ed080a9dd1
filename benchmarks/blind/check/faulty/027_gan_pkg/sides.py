import torch
from torch import nn


def maker():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 12))


def judge():
    return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))


def kit(net):
    return torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.9))
