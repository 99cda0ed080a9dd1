import copy

import torch
import torch.nn.functional as F
from torch import nn


class BYOL(nn.Module):
    def __init__(self, dim=32, m=0.99):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(64, dim), nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.predictor = nn.Linear(dim, dim)
        self.m = m

    @torch.no_grad()
    def ema(self):
        for o, t in zip(self.online.parameters(), self.target.parameters()):
            t.data = t.data * self.m + o.data * (1.0 - self.m)

    def forward(self, a, b):
        def one(u, v):
            with torch.no_grad():
                z = self.target(v)
            return 2 - 2 * F.cosine_similarity(self.predictor(self.online(u)), z.detach()).mean()
        return one(a, b) + one(b, a)


model = BYOL()
trainable = [p for p in model.parameters() if p.requires_grad]
opt = torch.optim.SGD(trainable, lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(4):
    for x in [torch.randn(16, 64) for _ in range(10)]:
        loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.ema()
