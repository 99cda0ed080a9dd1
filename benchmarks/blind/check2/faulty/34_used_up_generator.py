import torch
from torch import nn


class Runner:
    def __init__(self, model):
        self.model = model
        self.params = (p for p in model.parameters() if p.requires_grad)
        self.opt = torch.optim.Adam(self.params, lr=1e-3)

    def step(self, x):
        self.opt.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, 1.0)  # FAULT: ZG306
        self.opt.step()


r = Runner(nn.Linear(4, 4))
for x in torch.randn(50, 8, 4):
    r.step(x)
