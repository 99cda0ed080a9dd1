import torch
from torch import nn

cfg = {"accum": 4, "clip": 1.0, "lr": 1e-4}
w = nn.Linear(64, 64).cuda()
o = torch.optim.AdamW(w.parameters(), lr=cfg["lr"])
sc = torch.amp.GradScaler("cuda")
o.zero_grad()
for i in range(400):
    x = torch.randn(8, 64, device="cuda")
    with torch.autocast("cuda"):
        loss = nn.functional.mse_loss(w(x), x) / cfg["accum"]
    sc.scale(loss).backward()
    if (i + 1) % cfg["accum"] == 0:
        nn.utils.clip_grad_norm_(w.parameters(), cfg["clip"])  # FAULT: ZG201
        sc.step(o)
        sc.update()
        o.zero_grad()
