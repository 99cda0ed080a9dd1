import torch
from torch import nn

ACCUM = 4
net = nn.Linear(16, 16).cuda()
opt = torch.optim.AdamW(net.parameters())
scaler = torch.amp.GradScaler("cuda")
loader = [torch.randn(8, 16) for _ in range(40)]
opt.zero_grad()
for i, x in enumerate(loader):
    x = x.cuda()
    with torch.autocast("cuda"):
        loss = nn.functional.mse_loss(net(x), x) / ACCUM
    scaler.scale(loss).backward()
    scaler.unscale_(opt)  # FAULT: ZG204
    if (i + 1) % ACCUM == 0:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
