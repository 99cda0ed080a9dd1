import torch
from torch import nn

q = nn.Linear(10, 10).cuda()
o = torch.optim.Adam(q.parameters(), 1e-3)
s = torch.amp.GradScaler("cuda")
for _ in range(80):
    t = torch.randn(6, 10, device="cuda")
    o.zero_grad()
    with torch.autocast("cuda"):
        main = nn.functional.mse_loss(q(t), t)
    s.scale(main).backward()
    extra = 0.01 * sum(p.pow(2).sum() for p in q.parameters())
    extra.backward()
    s.step(o)  # FAULT: ZG202
    s.update()
