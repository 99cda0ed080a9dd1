import torch
from torch import nn


class Fitter:
    def __init__(self, width=32):
        self.net = nn.Sequential(nn.Linear(4, width), nn.GELU(), nn.Linear(width, 1))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-3)
        self.log = []

    def batch(self):
        x = torch.randn(16, 4)
        return x, x.norm(dim=-1, keepdim=True)

    def one(self):
        x, y = self.batch()
        loss = nn.functional.huber_loss(self.net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()  # FAULT: ZG001
        self.log.append(loss.item())

    def run(self, n):
        while len(self.log) < n:
            self.one()


if __name__ == "__main__":
    Fitter().run(500)
