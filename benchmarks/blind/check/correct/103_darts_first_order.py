import torch
import torch.nn.functional as F
from torch import nn


class Cell(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.ops = nn.ModuleList([nn.Linear(d, d), nn.Sequential(nn.Linear(d, d), nn.ReLU()), nn.Identity()])
        self.arch = nn.Parameter(1e-3 * torch.randn(3))
        self.head = nn.Linear(d, 4)

    def weights(self):
        return [p for n, p in self.named_parameters() if n != "arch"]

    def forward(self, x):
        w = F.softmax(self.arch, 0)
        return self.head(sum(wi * op(x) for wi, op in zip(w, self.ops)))


cell = Cell()
ka = torch.optim.SGD(cell.weights(), 0.025, momentum=0.9, weight_decay=3e-4)
kb = torch.optim.Adam([cell.arch], 3e-4, betas=(0.5, 0.999))
s_ = torch.optim.lr_scheduler.CosineAnnealingLR(ka, 50, eta_min=1e-3)
batch = lambda: (torch.randn(32, 16), torch.randint(0, 4, (32,)))

for epoch in range(50):
    for _ in range(10):
        (xt, yt), (xv, yv) = batch(), batch()
        kb.zero_grad()
        F.cross_entropy(cell(xv), yv).backward()
        kb.step()
        ka.zero_grad()
        F.cross_entropy(cell(xt), yt).backward()
        nn.utils.clip_grad_norm_(cell.weights(), 5.0)
        ka.step()
    s_.step()
