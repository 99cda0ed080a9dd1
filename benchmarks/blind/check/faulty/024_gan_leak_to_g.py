import torch
from torch import nn
from torch.nn.functional import softplus as sp


class Duel:
    def __init__(self):
        self.a, self.b = nn.Linear(4, 10), nn.Linear(10, 1)
        self.oa, self.ob = torch.optim.SGD(self.a.parameters(), 0.01), torch.optim.SGD(self.b.parameters(), 0.01)

    def turn(self, real):
        self.oa.zero_grad()
        self.ob.zero_grad()
        made = self.a(torch.randn(len(real), 4))
        (sp(self.b(made)).mean() + sp(-self.b(real)).mean()).backward()
        self.ob.step()
        again = self.a(torch.randn(len(real), 4))
        sp(-self.b(again)).mean().backward()
        self.oa.step()  # FAULT: ZG005


duel = Duel()
for _ in range(100):
    duel.turn(torch.randn(8, 10))
