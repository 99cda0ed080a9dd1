import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

model = nn.Linear(4, 1).cuda()
critic = nn.Linear(4, 1).cuda()
opts = [torch.optim.Adam(m.parameters(), 1e-3) for m in (model, critic)]
scaler = GradScaler()
for _ in range(100):
    x = torch.randn(8, 4, device="cuda")
    for o in opts:
        o.zero_grad()
    with autocast():
        loss = (model(x) - critic(x)).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(opts[0])
    opts[1].step()  # FAULT: ZG202
    scaler.update()
