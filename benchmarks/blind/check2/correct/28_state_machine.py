import enum
import torch
from torch import nn


class Phase(enum.Enum):
    WARM = 0
    ADV = 1


class Engine:
    def __init__(self, n_accum=2):
        self.g = nn.Linear(6, 6)
        self.d = nn.Linear(6, 1)
        self.og = torch.optim.Adam(self.g.parameters(), 1e-3)
        self.od = torch.optim.Adam(self.d.parameters(), 1e-3)
        self.n_accum = n_accum
        self.tick = 0

    @property
    def phase(self):
        return Phase.WARM if self.tick < 100 else Phase.ADV

    def reconstruction(self, x):
        return nn.functional.l1_loss(self.g(x), x)

    def run(self, stream):
        for x in stream:
            self.tick += 1
            if self.phase is Phase.WARM:
                self.og.zero_grad()
                self.reconstruction(x).backward()
                self.og.step()
                continue
            fake = self.g(x)
            for p in self.d.parameters():
                p.requires_grad_(True)
            self.od.zero_grad()
            d_loss = self.d(fake.detach()).mean() - self.d(x).mean()
            d_loss.backward()
            self.od.step()
            for p in self.d.parameters():
                p.requires_grad_(False)
            self.og.zero_grad()
            g_loss = nn.functional.l1_loss(fake, x) - 0.1 * self.d(fake).mean()
            g_loss.backward()
            self.og.step()


Engine().run(torch.randn(300, 8, 6))
