import torch
from torch import nn
import torch.nn.functional as F


class Multi(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(32, 64), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Linear(64, n) for t, n in tasks.items()})

    def forward(self, x, t):
        return self.heads[t](self.trunk(x))


tasks = {"age": 1, "sex": 2, "race": 5}
net = Multi(tasks)
trunk_opt = torch.optim.Adam(net.trunk.parameters(), 1e-3)
head_opts = {t: torch.optim.Adam(net.heads[t].parameters(), 1e-2) for t in tasks}

for it in range(200):
    trunk_opt.zero_grad()
    for o in head_opts.values():
        o.zero_grad()
    x = torch.randn(16, 32)
    total = 0.0
    for t, n in tasks.items():
        out = net(x, t)
        loss = F.mse_loss(out.squeeze(1), torch.randn(16)) if n == 1 else F.cross_entropy(out, torch.randint(0, n, (16,)))
        loss.backward()
        total += loss.item()
    trunk_opt.step()
    for t in tasks:
        head_opts[t].step()
