import torch
from torch import nn


class Epochs:
    def __init__(self):
        self.net = nn.Linear(4, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.sched = torch.optim.lr_scheduler.MultiStepLR(self.opt, [3, 6])

    def epoch(self):
        for _ in range(20):
            self.opt.zero_grad()
            self.net(torch.randn(8, 4)).pow(2).mean().backward()
            self.opt.step()

    def run(self):
        for e in range(10):
            self.sched.step()  # FAULT: ZG301
            self.epoch()


Epochs().run()
