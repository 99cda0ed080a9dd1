"""The leaves behind a checkpointed function are found the way the function finds them itself."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from engine.nets import make_model
from zerograd.engine.leaves import leaves

NET = make_model()
NETS = {"judge": NET}
SPACE = SimpleNamespace(judge=NET)


class Trainer:
    def __init__(self, net: nn.Module) -> None:
        self.judge = net

    @property
    def alias(self) -> nn.Module:
        return self.judge

    def run(self, hidden):
        return self.inner(hidden)

    def inner(self, hidden):
        return self.alias(hidden)

    def __call__(self, hidden):
        return self.run(hidden)


class Unregistered(nn.Module):
    """Holds a network where parameters() does not look."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.nets = [net]

    def forward(self, hidden):
        return self.nets[0](hidden)


def _named(hidden):
    return NET(hidden)


def _default(hidden, net=NET):
    return net(hidden)


WAYS = {
    "the module itself": NET,
    "its method": NET.forward,
    "a closure": (lambda net: lambda hidden: net(hidden))(NET),
    "a global": lambda hidden: NET(hidden),
    "a global of a function it calls": lambda hidden: _named(hidden),
    "a global in a lambda inside": lambda hidden: (lambda: NET(hidden))(),
    "a container": lambda hidden: NETS["judge"](hidden),
    "a namespace": lambda hidden: SPACE.judge(hidden),
    "a default": _default,
    "a partial": partial(lambda net, hidden: net(hidden), NET),
    "a bound method": Trainer(NET).run,
    "a callable object": Trainer(NET),
    "a module that did not register it": Unregistered(NET),
    "a weight alone": lambda hidden: hidden @ NET[0].weight.t(),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_found_through(way: str) -> None:
    hidden = torch.ones(2, 4, requires_grad=True)
    loss = checkpoint(WAYS[way], hidden, use_reentrant=True).sum()
    found = {id(leaf) for leaf in leaves(loss)}
    loss.backward()
    reached = [parameter for parameter in NET.parameters() if parameter.grad is not None]
    NET.zero_grad()
    assert reached
    assert {id(parameter) for parameter in reached} | {id(hidden)} <= found


def test_an_argument_is_found() -> None:
    loss = checkpoint(lambda net, hidden: net(hidden), NET, torch.ones(2, 4, requires_grad=True), use_reentrant=True)
    assert set(map(id, NET.parameters())) <= set(map(id, leaves(loss.sum())))


def test_an_empty_cell_and_much_data_do_no_harm() -> None:
    data = list(range(10**6))

    def run(hidden):
        return NET(hidden) if data and data[0] == 0 else late(hidden)

    loss = checkpoint(run, torch.ones(2, 4, requires_grad=True), use_reentrant=True).sum()
    assert set(map(id, NET.parameters())) <= set(map(id, leaves(loss)))
    late = None
