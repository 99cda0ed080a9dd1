import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

model = nn.LSTM(16, 32).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scaler = GradScaler()
for step in range(100):
    x = torch.randn(10, 4, 16, device="cuda")
    optimizer.zero_grad()
    with autocast():
        out, _ = model(x)
        loss = out.pow(2).mean()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)  # FAULT: ZG201
    scaler.step(optimizer)
    scaler.update()
