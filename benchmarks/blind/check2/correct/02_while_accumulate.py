import itertools
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACC = 4
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
data = DataLoader(TensorDataset(torch.randn(256, 10), torch.randint(0, 2, (256,))), batch_size=8)
stream = itertools.cycle(data)
updates = 0
while updates < 200:
    opt.zero_grad()
    micro = 0
    while micro < ACC:
        x, y = next(stream)
        loss = nn.functional.cross_entropy(net(x), y)
        (loss / ACC).backward()
        micro += 1
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    updates += 1
