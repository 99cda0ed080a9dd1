import torch
from torch import nn

WARM = 50
model = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
optim = torch.optim.Adam(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.LambdaLR(optim, lambda s: min(1.0, s / WARM))
it = 0
while it < 400:
    x = torch.randn(4, 7, 16)
    sched.step()  # FAULT: ZG301
    loss = (model(x) - x).abs().mean()
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optim.step()
    it += 1
