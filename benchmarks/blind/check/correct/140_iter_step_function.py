import torch
from torch import nn


class Session:
    instances = {}

    def __init__(self, name):
        self.name = name
        self.mods, self.kits = {}, {}
        Session.instances[name] = self

    def add(self, key, mod, **kw):
        self.mods[key] = mod
        self.kits[key] = torch.optim.AdamW(mod.parameters(), **kw)
        return self

    def __enter__(self):
        for k in self.kits.values():
            k.zero_grad()
        return self

    def __exit__(self, exc_type, exc, tb):
        if exc_type is None:
            for k in self.kits.values():
                k.step()
        return False


s = Session("main").add("in", nn.Linear(3, 6), lr=1e-3).add("out", nn.Linear(6, 3), lr=1e-2)
for _ in range(100):
    with s:
        x = torch.randn(4, 3)
        y = s.mods["out"](s.mods["in"](x).relu())
        (y - x).pow(2).sum().backward()
