import torch
from torch import nn


def scale_gradients(params, factor):
    for p in params:
        if p.grad is not None:
            p.grad.mul_(factor)


def main(every=4):
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i, x in enumerate(torch.randn(40, 8, 4)):
        loss = net(x).abs().mean()
        loss.backward()
        scale_gradients(net.parameters(), 1.0 / every)  # FAULT: ZG107
        if (i + 1) % every == 0:
            opt.step()
            opt.zero_grad()


main()
