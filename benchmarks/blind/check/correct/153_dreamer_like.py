import torch
import torch.nn.functional as F
from torch import nn


class Opt:
    def __init__(self, params, lr, clip):
        self.params = list(params)
        self.core = torch.optim.Adam(self.params, lr=lr)
        self.clip = clip

    def __call__(self, loss, retain_graph=False):
        self.core.zero_grad()
        loss.backward(retain_graph=retain_graph)
        norm = nn.utils.clip_grad_norm_(self.params, self.clip)
        self.core.step()
        return norm.item()


class Freeze:
    def __init__(self, mod):
        self.mod = mod

    def __enter__(self):
        self.mod.requires_grad_(False)

    def __exit__(self, *a):
        self.mod.requires_grad_(True)


wm, actor, value = nn.Linear(10 + 2, 10), nn.Linear(10, 2), nn.Linear(10, 1)
wm_opt, a_opt, v_opt = Opt(wm.parameters(), 3e-4, 100), Opt(actor.parameters(), 8e-5, 100), Opt(value.parameters(), 8e-5, 100)
for _ in range(100):
    s, a, s2 = torch.randn(16, 10), torch.randn(16, 2), torch.randn(16, 10)
    wm_opt(F.mse_loss(wm(torch.cat([s, a], 1)), s2))
    feats = [s]
    with Freeze(wm), Freeze(value):
        for _ in range(5):
            feats.append(wm(torch.cat([feats[-1], actor(feats[-1]).tanh()], 1)))
        imag = torch.stack(feats)
        a_opt(-value(imag).mean())
    target = imag.detach().mean(-1, keepdim=True)
    v_opt(F.mse_loss(value(imag.detach()), target))
