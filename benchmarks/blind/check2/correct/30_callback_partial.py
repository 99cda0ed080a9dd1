import torch
from torch import nn
from functools import partial
from typing import Callable, NamedTuple


class Pipeline(NamedTuple):
    before: Callable[[], None]
    loss: Callable[[torch.Tensor], torch.Tensor]
    after: Callable[[], object]


def make(net, lr):
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    return Pipeline(partial(opt.zero_grad, set_to_none=True), lambda x: net(x).abs().mean(), opt.step)


net = nn.Linear(3, 3)
pipe = make(net, 0.1)
for x in torch.randn(50, 4, 3):
    pipe.before()
    pipe.loss(x).backward()
    pipe.after()
