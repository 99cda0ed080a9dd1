import torch
from torch import nn

g1 = nn.Linear(8, 2)
k1 = torch.optim.SGD(g1.parameters(), lr=1e-2)
for epoch in range(30):
    acc = []
    for _ in range(4):
        t = torch.randn(5, 8)
        acc.append((g1(t) - t[:, :2]).square().mean())
    whole = torch.stack(acc).mean()
    k1.zero_grad()
    whole.backward()
    k1.step()
    print(epoch, whole.item())
