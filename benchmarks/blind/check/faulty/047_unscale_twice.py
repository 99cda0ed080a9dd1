import torch
from torch import nn


def log_norm(scaler, opt, model):
    scaler.unscale_(opt)
    return sum(p.grad.norm() ** 2 for p in model.parameters()).sqrt().item()


model = nn.Linear(5, 2).cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)
scaler = torch.amp.GradScaler("cuda")
for i in range(30):
    opt.zero_grad()
    with torch.autocast("cuda"):
        loss = model(torch.randn(3, 5, device="cuda")).pow(2).mean()
    scaler.scale(loss).backward()
    print(i, log_norm(scaler, opt, model))
    scaler.unscale_(opt)  # FAULT: ZG204
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
