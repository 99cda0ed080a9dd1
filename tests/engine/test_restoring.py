"""restore= brings back random state, buffers and weights, bit for bit and into the same tensors."""

import copy
import random
from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn

import zerograd
from zerograd import Step
from zerograd.engine.outcome import Ending


def _net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 1))


X = torch.randn(8, 4)


def _random_state() -> tuple[object, ...]:
    return random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()


@pytest.mark.filterwarnings("ignore:zerograd skipped")
@pytest.mark.parametrize("how", ["raise", "abort", "nan"])
def test_random_state_and_buffers(how: str) -> None:
    net = _net()
    step = Step(torch.optim.SGD(net.parameters()), model=net, restore=("rng", "buffers"))
    buffers = [(buffer, buffer.clone()) for buffer in net.buffers()]
    before = _random_state()
    with suppress(ZeroDivisionError), step:
        step.backward(net(X).sum() * (float("nan") if how == "nan" else 1.0))
        random.random()
        np.random.rand()
        assert _random_state() != before
        if how == "raise":
            raise ZeroDivisionError
        if how == "abort":
            step.abort()
    assert _random_state() == before
    for (buffer, value), now in zip(buffers, net.buffers(), strict=True):
        assert buffer is now
        assert torch.equal(value, now)


def test_what_commits_is_not_restored() -> None:
    net = _net()
    step = Step(torch.optim.SGD(net.parameters()), model=net, restore=("rng", "buffers", "weights"))
    before = net[1].running_mean.clone()
    with step:
        step.backward(net(X).sum())
    assert not torch.equal(before, net[1].running_mean)


class Failing(torch.optim.Adam):
    fails = False

    def step(self, closure=None):
        super().step(closure)
        if self.fails:
            raise MemoryError("half-way")


@pytest.mark.parametrize("warm", [False, True])
def test_a_step_that_raises_half_way_is_taken_back(warm: bool) -> None:
    net = _net()
    optimizer = Failing(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    step = Step(optimizer, scheduler=schedule, restore="weights")
    if warm:
        with step:
            step.backward(net(X).sum())
    held = [tensor for state in optimizer.state.values() for tensor in state.values()]
    before = copy.deepcopy((list(net.parameters()), optimizer.state_dict(), schedule.state_dict()))
    optimizer.fails = True
    with pytest.raises(MemoryError, match="half-way"), step:
        step.backward(net(X).sum())
    assert step.outcome.kind is Ending.ROLLED_BACK
    assert str((list(net.parameters()), optimizer.state_dict(), schedule.state_dict())) == str(before)
    now = [tensor for state in optimizer.state.values() for tensor in state.values()]
    assert list(map(id, held)) == list(map(id, now))
    optimizer.fails = False
    with step:
        step.backward(net(X).sum())
    assert step.outcome.moved


def test_a_schedule_that_raises_takes_the_weights_back() -> None:
    net = _net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def factor(epoch: int) -> float:
        return 1.0 if epoch < 1 else 1 / 0

    step = Step(optimizer, scheduler=torch.optim.lr_scheduler.LambdaLR(optimizer, factor), restore="weights")
    before = [parameter.detach().clone() for parameter in net.parameters()]
    with pytest.raises(ZeroDivisionError), step:
        step.backward(net(X).sum())
    assert all(map(torch.equal, before, net.parameters()))
    assert step._terms.schedulers[0].last_epoch == 0


def test_a_group_that_was_added_in_the_block_stays_and_the_rest_comes_back() -> None:
    net, late = _net(), nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    step = Step(optimizer, restore="weights")
    with pytest.raises(KeyError, match="mine"), step:
        step.backward(net(X).sum())
        optimizer.param_groups[0]["lr"] = 5.0
        optimizer.add_param_group({"params": late.parameters()})
        raise KeyError("mine")
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert len(optimizer.param_groups) == 2


class Unwilling(torch.optim.lr_scheduler.StepLR):
    def load_state_dict(self, state: dict) -> None:
        raise OSError("no")


def test_what_cannot_be_brought_back_is_torn_and_keeps_nothing_open() -> None:
    net = _net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    step = Step(optimizer, restore="weights", scheduler=Unwilling(optimizer, 1))
    with pytest.raises(OSError, match="no"), step:
        raise KeyError("mine")
    assert step.outcome.kind is Ending.TORN
    with pytest.raises(zerograd.StepError, match="torn"), step:
        pass
    with Step(optimizer) as fresh:  # the parameters are free
        fresh.backward(net(X).sum())


def test_a_buffer_that_was_none_is_none_again() -> None:
    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.register_buffer("late", None)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.late = torch.ones(1)
            return self.layer(x)

    model = Late()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), model=model, restore="buffers")
    with pytest.raises(ZeroDivisionError), step:
        step.backward(model(torch.ones(2, 4)).sum())
        raise ZeroDivisionError
    assert model.late is None
