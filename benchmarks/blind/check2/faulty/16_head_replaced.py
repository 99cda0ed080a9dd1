import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(10, 20)
        self.head = nn.Linear(20, classes)

    def forward(self, x):
        return self.head(self.body(x).relu())


def main():
    net = Net(1000)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    net.head = nn.Linear(20, 7)  # FAULT: ZG010
    for _ in range(100):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 10)), torch.randint(0, 7, (8,)))
        net.zero_grad()
        loss.backward()
        opt.step()


main()
