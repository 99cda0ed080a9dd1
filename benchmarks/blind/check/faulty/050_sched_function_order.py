import torch
from torch import nn

zz = nn.Linear(9, 9)
oo = torch.optim.RMSprop(zz.parameters(), lr=1e-3)
ss = torch.optim.lr_scheduler.ExponentialLR(oo, gamma=0.95)


def one_epoch(rows):
    for a in rows:
        oo.zero_grad()
        (zz(a) - a).pow(2).sum().backward()
        oo.step()


rows = torch.randn(30, 5, 9)
for ep in range(10):
    ss.step()  # FAULT: ZG301
    one_epoch(rows)
