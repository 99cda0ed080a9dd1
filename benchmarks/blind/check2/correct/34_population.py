import copy
import random
import torch
from torch import nn


class Member:
    def __init__(self, net, lr):
        self.net = net
        self.lr = lr
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr)
        self.score = float("-inf")

    def train(self, steps):
        for _ in range(steps):
            x = torch.randn(16, 2)
            self.opt.zero_grad()
            loss = nn.functional.mse_loss(self.net(x), x.prod(-1, keepdim=True))
            loss.backward()
            self.opt.step()
        self.score = -loss.item()

    def exploit(self, other):
        self.net = copy.deepcopy(other.net)
        self.lr = other.lr * random.choice([0.8, 1.2])
        self.opt = torch.optim.SGD(self.net.parameters(), lr=self.lr)


members = [Member(nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1)), 10 ** random.uniform(-3, -1)) for _ in range(6)]
for generation in range(10):
    for m in members:
        m.train(20)
    members.sort(key=lambda m: m.score)
    for weak, strong in zip(members[:2], members[-2:]):
        weak.exploit(strong)
