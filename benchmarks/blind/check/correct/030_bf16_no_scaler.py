import torch
from torch import nn
from torch.optim.lr_scheduler import LinearLR, SequentialLR, CosineAnnealingLR

core = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)
steer = torch.optim.AdamW(core.parameters(), lr=3e-4)
plan = SequentialLR(steer, [LinearLR(steer, 0.01, total_iters=10), CosineAnnealingLR(steer, 90)], milestones=[10])
for turn in range(100):
    u = torch.randn(4, 10, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        v = core(u)
        w = (v[:, :-1] - u[:, 1:]).pow(2).mean()
    steer.zero_grad()
    w.backward()
    nn.utils.clip_grad_norm_(core.parameters(), 0.5)
    steer.step()
    plan.step()
