import torch
from torch import nn

ACC = 4
model = nn.Linear(8, 2).cuda()
opt = torch.optim.AdamW(model.parameters())
scaler = torch.cuda.amp.GradScaler()
batches = [(torch.randn(8, 8).cuda(), torch.randint(0, 2, (8,)).cuda()) for _ in range(64)]
for i, (x, y) in enumerate(batches):
    loss = nn.functional.cross_entropy(model(x), y) / ACC
    scaler.scale(loss).backward()
    scaler.unscale_(opt)  # FAULT: ZG204
    if (i + 1) % ACC == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
