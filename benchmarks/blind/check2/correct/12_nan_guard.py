import math
import torch
from torch import nn

model = nn.GRU(4, 8, batch_first=True)
head = nn.Linear(8, 1)
params = [*model.parameters(), *head.parameters()]
opt = torch.optim.RMSprop(params, lr=1e-3)
bad = 0
for step in range(300):
    out, _ = model(torch.randn(4, 10, 4))
    loss = head(out[:, -1]).pow(2).mean()
    if not math.isfinite(loss.item()):
        bad += 1
        continue
    loss.backward()
    norm = nn.utils.clip_grad_norm_(params, 1.0)
    if not torch.isfinite(norm):
        bad += 1
        opt.zero_grad()
        continue
    opt.step()
    opt.zero_grad()
print("bad", bad)
