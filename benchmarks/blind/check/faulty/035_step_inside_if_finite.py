import torch
from torch import nn

g1 = nn.Linear(3, 3)
k1 = torch.optim.SGD(g1.parameters(), lr=0.1)
for v in torch.randn(100, 4, 3):
    e = g1(v).exp().mean().log()
    e.backward()
    if torch.isfinite(e):
        k1.step()  # FAULT: ZG007
        k1.zero_grad()
    else:
        print("skip")
