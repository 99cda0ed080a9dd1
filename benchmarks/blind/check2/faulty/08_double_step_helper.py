import torch
from torch import nn


def optimise(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


def main():
    net = nn.Linear(4, 2)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.99)
    for epoch in range(10):
        for _ in range(20):
            loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
            optimise(opt, loss)
            opt.step()  # FAULT: ZG004
        sched.step()


main()
