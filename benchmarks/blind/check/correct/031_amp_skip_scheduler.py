import torch
from torch import nn


class Runner:
    def __init__(self, thing, lr):
        self.thing = thing
        self.optim = torch.optim.AdamW(thing.parameters(), lr=lr)
        self.pace = torch.optim.lr_scheduler.LambdaLR(self.optim, lambda s: 0.999 ** s)
        self.sc = torch.amp.GradScaler("cuda")

    def update(self, q):
        self.optim.zero_grad()
        self.sc.scale(q).backward()
        self.sc.unscale_(self.optim)
        norm = nn.utils.clip_grad_norm_(self.thing.parameters(), 1.0)
        before = self.sc.get_scale()
        self.sc.step(self.optim)
        self.sc.update()
        if self.sc.get_scale() >= before:
            self.pace.step()
        return norm.item()


thing = nn.Linear(4, 4).cuda()
r = Runner(thing, 1e-3)
for _ in range(50):
    with torch.autocast("cuda"):
        q = thing(torch.randn(2, 4, device="cuda")).square().mean()
    r.update(q)
