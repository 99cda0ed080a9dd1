import torch
from torch import nn


class Acc:
    def __init__(self, net, accumulate=4):
        self.net, self.accumulate, self.seen = net, accumulate, 0
        self.opt = torch.optim.SGD(net.parameters(), lr=0.01)

    def feed(self, x):
        loss = (self.net(x) - x).pow(2).mean()
        loss.backward()  # FAULT: ZG101
        self.seen += 1
        if self.seen % self.accumulate == 0:
            self.opt.step()
            self.opt.zero_grad()
        return loss.item()


acc = Acc(nn.Linear(7, 7))
for _ in range(200):
    acc.feed(torch.randn(5, 7))
