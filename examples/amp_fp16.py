"""Mixed precision with a loss scale: steps that overflow are skipped, the scale finds its size, the schedule waits."""

import torch
from torch import nn

from zerograd import Step

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.randn(512, 16, device=device)
y = x[:, :4].sum(1, keepdim=True)

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler(device, init_scale=2.0**24, growth_interval=50)  # far too large, to begin with
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=120)
step = Step(optimizer, clip=1.0, autocast=torch.float16, scaler=scaler, scheduler=schedule)

for epoch in range(15):
    for rows in torch.randperm(512, device=device).split(64):
        with step:
            loss = nn.functional.mse_loss(model(x[rows]).float(), y[rows])
            step.backward(loss)

print(f"{step.committed} steps, {step.skipped} skipped, scale {scaler.get_scale():.0f}, loss {loss.item():.4f}")
assert loss.item() < 0.5
assert schedule.last_epoch == step.committed
