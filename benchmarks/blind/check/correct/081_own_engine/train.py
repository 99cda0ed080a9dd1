import torch
from torch import nn

from engine import Engine

eng = Engine(nn.Linear(10, 2), lr=1e-3, micro=4, clip=1.0)
updates = 0
for _ in range(400):
    x = torch.randn(6, 10)
    eng.backward(eng(x).pow(2).mean())
    updates += eng.step()
print(updates)
