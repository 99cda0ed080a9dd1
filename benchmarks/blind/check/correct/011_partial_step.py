from functools import partial

import torch
from torch import nn


def push(mod, opt, fn, pair, limit=None):
    a, b = pair
    opt.zero_grad()
    out = fn(mod(a), b)
    out.backward()
    if limit is not None:
        nn.utils.clip_grad_value_(mod.parameters(), limit)
    opt.step()
    return out.detach()


m = nn.GRU(5, 7, batch_first=True)


class First(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


w = First(m)
one = partial(push, w, torch.optim.Adam(w.parameters(), 1e-3), nn.MSELoss(), limit=0.5)
pairs = [(torch.randn(3, 9, 5), torch.randn(3, 9, 7)) for _ in range(20)]
tot = torch.zeros(())
for p in pairs:
    tot += one(p)
print(tot / len(pairs))
