from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class State:
    losses: list = field(default_factory=list)


class Work:
    def __init__(self, m):
        self.m, self.st = m, State()
        self.o = torch.optim.Adam(m.parameters())

    def go(self, x):
        self.o.zero_grad()
        l = self.m(x).pow(2).mean()
        l.backward()
        self.o.step()
        self.st.losses.append(l)  # FAULT: ZG402


w = Work(nn.Linear(4, 4))
for _ in range(500):
    w.go(torch.randn(3, 4))
print(sum(float(l) for l in w.st.losses))
