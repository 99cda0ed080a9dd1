from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Cfg:
    T: int = 100
    lr: float = 2e-4
    ema: float = 0.999
    steps: int = 500


class Eps(nn.Module):
    def __init__(self, d=2):
        super().__init__()
        self.t = nn.Embedding(100, 16)
        self.f = nn.Sequential(nn.Linear(d + 16, 64), nn.SiLU(), nn.Linear(64, d))

    def forward(self, x, t):
        return self.f(torch.cat([x, self.t(t)], 1))


class EMA:
    def __init__(self, net, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in net.state_dict().items()}

    def update(self, net):
        for k, v in net.state_dict().items():
            self.shadow[k].lerp_(v, 1 - self.decay)


cfg = Cfg()
betas = torch.linspace(1e-4, 0.02, cfg.T)
abar = torch.cumprod(1 - betas, 0)
net = Eps()
ema = EMA(net, cfg.ema)
opt = torch.optim.AdamW(net.parameters(), cfg.lr)
for step in range(cfg.steps):
    x0 = torch.randn(64, 2) * torch.tensor([2.0, 0.5])
    t = torch.randint(0, cfg.T, (64,))
    noise = torch.randn_like(x0)
    xt = abar[t, None].sqrt() * x0 + (1 - abar[t, None]).sqrt() * noise
    loss = F.mse_loss(net(xt, t), noise)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    ema.update(net)
