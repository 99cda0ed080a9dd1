import torch
from torch import nn


def epochs(n, net, make_opt, data):
    opt = make_opt(net.parameters())
    for e in range(n):
        opt.zero_grad()
        total = 0.0
        for x, y in data:
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()  # FAULT: ZG001
            total += loss.item()
        yield e, total / len(data)


def main():
    net = nn.Linear(6, 3)
    data = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(12)]
    for e, mean in epochs(5, net, lambda p: torch.optim.SGD(p, lr=0.1), data):
        print(e, mean)


main()
