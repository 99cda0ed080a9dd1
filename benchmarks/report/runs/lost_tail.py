"""Accumulation over 4 of 10 micro-batches: the last two of every epoch are cleared, and no step uses them."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(160, 20)), batch_size=16)
accumulation = 4
for _ in range(6):
    optimizer.zero_grad()
    for i, (x,) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) / accumulation
        loss.backward()
        if (i + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
