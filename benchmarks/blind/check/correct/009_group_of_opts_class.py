import torch
from torch import nn


class Many(list):
    """several optimizers behind one face"""

    def zero_grad(self):
        for z in self:
            z.zero_grad()

    def step(self):
        for z in self:
            z.step()


class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(1000, 16, sparse=True)
        self.l = nn.Linear(16, 2)

    def forward(self, t):
        return self.l(self.e(t))


zed = Thing()
many = Many([torch.optim.SparseAdam(zed.e.parameters(), lr=1e-2), torch.optim.Adam(zed.l.parameters(), lr=1e-3)])
for k in range(300):
    t = torch.randint(0, 1000, (6, 5))
    g = torch.randint(0, 2, (6,))
    many.zero_grad()
    nn.functional.cross_entropy(zed(t), g).backward()
    many.step()
