import torch
from torch import nn

zed = nn.Linear(11, 11)
o5 = torch.optim.Adam(zed.parameters(), 1e-3)
p5 = torch.optim.lr_scheduler.StepLR(o5, 20, 0.8)


def want(step):
    return 1 if step < 20 else 2 if step < 50 else 4


updates = have = 0
o5.zero_grad()
while updates < 100:
    need = want(updates)
    t = torch.randn(3, 11)
    ((zed(t) - t).pow(2).mean() / need).backward()
    have += 1
    if have == need:
        o5.step()
        p5.step()
        o5.zero_grad()
        have = 0
        updates += 1
