import torch
from torch import nn


class Accumulator:
    def __init__(self, thing, o1, every):
        self.thing = thing
        self.o1 = o1
        self.every = every
        self.left = every

    def __call__(self, q):
        (q / self.every).backward()
        self.left -= 1
        if self.left == 0:
            self.flush()

    def flush(self):
        if self.left == self.every:
            return
        self.o1.step()
        self.o1.zero_grad()
        self.left = self.every


def main():
    thing = nn.Linear(16, 1)
    acc = Accumulator(thing, torch.optim.Adam(thing.parameters(), lr=1e-3), every=8)
    for epoch in range(2):
        for _ in range(75):
            x = torch.randn(4, 16)
            acc((thing(x) - x.mean(1, keepdim=True)).pow(2).mean())
        acc.flush()


main()
