import torch
import torch.nn.functional as F
from torch import nn


class MoE(nn.Module):
    def __init__(self, d, n, k=2):
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(n))
        self.gate = nn.Linear(d, n, bias=False)
        self.k = k

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        top, idx = probs.topk(self.k, -1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            hit, slot = (idx == e).nonzero(as_tuple=True)
            if len(hit):
                out = out.index_add(0, hit, top[hit, slot, None] * expert(x[hit]))
        load = torch.bincount(idx.flatten(), minlength=len(self.experts)) / idx.numel()
        aux = len(self.experts) * (load * probs.mean(0)).sum()
        return out, aux


moe = MoE(16, 4)
gate_opt = torch.optim.SGD(moe.gate.parameters(), lr=0.1)
exp_opt = torch.optim.AdamW(moe.experts.parameters(), lr=1e-3)
for _ in range(100):
    x = torch.randn(32, 16)
    y, aux = moe(x)
    loss = F.mse_loss(y, x.roll(1, -1)) + 0.01 * aux
    for o in (gate_opt, exp_opt):
        o.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(moe.parameters(), 1.0)
    gate_opt.step()
    exp_opt.step()
