"""The same loop, never cleared."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = [(torch.randn(16, 8), torch.randn(16, 1)) for _ in range(20)]
for _ in range(2):
    for x, y in data:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
print(sum(float(p.detach().double().sum()) for p in model.parameters()))
