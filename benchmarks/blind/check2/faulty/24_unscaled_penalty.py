import torch
from torch import nn

net = nn.Linear(6, 2).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")


def penalty(module):
    return 1e-4 * sum(p.abs().sum() for p in module.parameters())


for it in range(300):
    x, y = torch.randn(8, 6, device="cuda"), torch.randint(0, 2, (8,), device="cuda")
    opt.zero_grad()
    with torch.autocast("cuda"):
        loss = nn.functional.cross_entropy(net(x), y)
    scaler.scale(loss).backward()
    penalty(net).backward()  # FAULT: ZG202
    scaler.step(opt)
    scaler.update()
