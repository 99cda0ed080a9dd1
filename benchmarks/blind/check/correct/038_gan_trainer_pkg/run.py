import torch

from base import Side
from nets import Judge, Maker


def hinge(judge, real, fake):
    return torch.relu(1 - judge(real)).mean() + torch.relu(1 + judge(fake)).mean()


def main(steps=200):
    maker, judge = Side(Maker(), 1e-4), Side(Judge(), 4e-4)
    for s in range(steps):
        real = torch.randn(16, 20).abs()
        lj = judge.descend(hinge(judge.net, real, maker.net(16).detach()))
        lm = maker.descend(-judge.net(maker.net(16)).mean())
        if s % 50 == 0:
            print(s, lj, lm)


if __name__ == "__main__":
    main()
