import math

import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for i in range(500):
    x, y = torch.randn(16, 8), torch.rand(16, 1)
    loss = ((model(x) + 0.5).log() - y).pow(2).mean()
    loss.backward()
    if math.isnan(loss.item()):
        print("NaN at", i)
        continue
    optimizer.step()  # FAULT: ZG007
    optimizer.zero_grad()
