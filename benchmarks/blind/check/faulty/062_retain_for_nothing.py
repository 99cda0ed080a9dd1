import torch
from torch import nn

f1 = nn.Linear(10, 10)
s1 = torch.optim.SGD(f1.parameters(), 0.05)
for v in torch.randn(100, 8, 10):
    s1.zero_grad()
    e = nn.functional.mse_loss(f1(v), v)
    e.backward(retain_graph=True)  # FAULT: ZG402
    s1.step()
