import torch
from torch import nn

use = torch.cuda.is_available()
dev = "cuda" if use else "cpu"
kk = nn.Linear(6, 6).to(dev)
oo = torch.optim.NAdam(kk.parameters(), lr=1e-3)
sc = torch.amp.GradScaler(dev, enabled=use)

back = (lambda l: sc.scale(l).backward())
move = (lambda: (sc.step(oo), sc.update(), oo.zero_grad()))

for _ in range(120):
    with torch.autocast(dev, enabled=use):
        l = (kk(torch.randn(3, 6, device=dev)) ** 2).mean()
    back(l)
    move()
