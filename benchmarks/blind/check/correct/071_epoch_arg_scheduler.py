import torch
from timm.scheduler import CosineLRScheduler
from torch import nn

zz = nn.Linear(3, 3)
oo = torch.optim.SGD(zz.parameters(), lr=0.1)
ss = CosineLRScheduler(oo, t_initial=20, warmup_t=3, warmup_lr_init=1e-5)
n = 0
for ep in range(20):
    ss.step(ep)
    for _ in range(30):
        oo.zero_grad()
        zz(torch.randn(2, 3)).square().sum().backward()
        oo.step()
        n += 1
        ss.step_update(num_updates=n)
