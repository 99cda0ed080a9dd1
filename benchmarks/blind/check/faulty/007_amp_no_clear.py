import torch
from torch import nn

m = nn.Linear(32, 8).cuda()
o = torch.optim.SGD(m.parameters(), lr=0.1)
s = torch.amp.GradScaler("cuda")

for _ in range(100):
    x = torch.randn(16, 32, device="cuda")
    y = torch.randint(0, 8, (16,), device="cuda")
    with torch.autocast("cuda"):
        loss = nn.functional.cross_entropy(m(x), y)
    s.scale(loss).backward()
    s.unscale_(o)
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    s.step(o)  # FAULT: ZG001
    s.update()
