import torch
from torch import nn


class LoRA(nn.Module):
    def __init__(self, lin, r=4, alpha=8):
        super().__init__()
        self.lin = lin.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(lin.in_features, r) * 0.02)
        self.b = nn.Parameter(torch.zeros(r, lin.out_features))
        self.s = alpha / r

    def forward(self, x):
        return self.lin(x) + x @ self.a @ self.b * self.s


def inject(m):
    for n, c in list(m.named_children()):
        if isinstance(c, nn.Linear):
            setattr(m, n, LoRA(c))
        else:
            inject(c)
    return m


base = inject(nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Sequential(nn.Linear(20, 10))))
few = [p for p in base.parameters() if p.requires_grad]
opt = torch.optim.AdamW(few, 1e-3)
for _ in range(60):
    x = torch.randn(8, 10)
    (base(x) - x).square().mean().backward()
    nn.utils.clip_grad_norm_(few, 1.0)
    opt.step()
    opt.zero_grad()
