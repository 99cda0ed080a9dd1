import torch
from torch import nn


class Solver:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.LBFGS(net.parameters(), max_iter=10)

    def objective(self):
        loss = nn.functional.mse_loss(self.net(self.x), self.y)
        loss.backward()
        return loss

    def fit(self, x, y, rounds):
        self.x, self.y = x, y
        for _ in range(rounds):
            self.opt.step(self.objective)  # FAULT: ZG009


Solver(nn.Linear(2, 1)).fit(torch.randn(40, 2), torch.randn(40, 1), 10)
