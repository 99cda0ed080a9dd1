import copy
import torch
from torch import nn


def make_optimizer(net):
    return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def main():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = make_optimizer(net)
    net = copy.deepcopy(net)  # FAULT: ZG010
    for _ in range(100):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        loss = nn.functional.mse_loss(net(x), y)
        net.zero_grad()
        loss.backward()
        opt.step()


main()
