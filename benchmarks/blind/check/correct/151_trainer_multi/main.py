import torch
from torch import nn

from config import TrainCfg
from loop import Loop


def source():
    while True:
        x = torch.randn(8, 12)
        yield x, (x[:, 0] > 0).long()


loop = Loop(TrainCfg(), nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2)), source())


@loop.on
def report(step, loss, norm):
    if step % 50 == 0:
        print(step, loss, norm)


loop.run()
