import copy
import torch
import torch.nn.functional as F
from torch import nn


class zed:
    def __init__(s, n, m):
        s.mu = nn.Sequential(nn.Linear(n, 32), nn.ReLU(), nn.Linear(32, m), nn.Tanh())
        s.cu = nn.Sequential(nn.Linear(n + m, 32), nn.ReLU(), nn.Linear(32, 1))
        s.mu_, s.cu_ = copy.deepcopy(s.mu).requires_grad_(False), copy.deepcopy(s.cu).requires_grad_(False)
        s.oa = torch.optim.Adam(s.mu.parameters(), 1e-4)
        s.ob = torch.optim.Adam(s.cu.parameters(), 1e-3)

    def go(s, x, a, r, y):
        tgt = r + 0.99 * s.cu_(torch.cat((y, s.mu_(y)), 1))
        c = F.mse_loss(s.cu(torch.cat((x, a), 1)), tgt)
        s.ob.zero_grad()
        c.backward()
        s.ob.step()
        s.cu.requires_grad_(False)
        s.oa.zero_grad()
        (-s.cu(torch.cat((x, s.mu(x)), 1)).mean()).backward()
        s.oa.step()
        s.cu.requires_grad_(True)
        with torch.no_grad():
            for p, q in zip([*s.mu.parameters(), *s.cu.parameters()], [*s.mu_.parameters(), *s.cu_.parameters()]):
                q.mul_(0.995).add_(p, alpha=0.005)


w = zed(5, 2)
for _ in range(64):
    w.go(torch.randn(16, 5), torch.rand(16, 2), torch.randn(16, 1), torch.randn(16, 5))
