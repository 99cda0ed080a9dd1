from copy import deepcopy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1))


def train_on_batch(x, y, lr):
    model.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    for param in model.parameters():
        param.data -= lr * param.grad.data


for iteration in range(3000):
    before = deepcopy(model.state_dict())
    x = torch.rand(50, 1) * 10 - 5
    y = torch.sin(x + torch.rand(1) * 6)
    for _ in range(5):
        for start in range(0, 50, 10):
            train_on_batch(x[start:start + 10], y[start:start + 10], 0.02)
    after = model.state_dict()
    eps = 0.1 * (1 - iteration / 3000)
    model.load_state_dict({k: before[k] + (after[k] - before[k]) * eps for k in before})
