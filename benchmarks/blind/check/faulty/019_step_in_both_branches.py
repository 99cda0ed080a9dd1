import torch
from torch import nn

zed = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 1))
o3 = torch.optim.SGD(zed.parameters(), 0.01)
use_clip = True
for t in torch.randn(80, 6, 12):
    o3.zero_grad()
    zed(t).pow(2).mean().backward()
    if use_clip:
        nn.utils.clip_grad_norm_(zed.parameters(), 1.0)
        o3.step()
    o3.step()  # FAULT: ZG004
