import torch
from torch import nn


class Accumulating:
    def __init__(self, every=4):
        self.every = every
        self.net = nn.Linear(5, 1)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def fit(self, data):
        self.opt.zero_grad()
        for i, x in enumerate(data):
            loss = self.net(x).pow(2).mean() / self.every
            loss.backward()
            if i % self.every == 0:  # FAULT: ZG103
                self.opt.step()
                self.opt.zero_grad()


Accumulating().fit(torch.randn(64, 8, 5))
