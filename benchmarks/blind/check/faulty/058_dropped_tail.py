import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ds = TensorDataset(torch.randn(1000, 9), torch.randn(1000, 1))
loader = DataLoader(ds, batch_size=10, shuffle=True)
g = nn.Linear(9, 1)
o = torch.optim.Adam(g.parameters(), lr=1e-3)
every = 7
for epoch in range(4):
    o.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(g(x), y) / every
        loss.backward()
        if (i + 1) % every == 0:  # FAULT: ZG102
            o.step()
            o.zero_grad()
