"""Ctrl-C waits for the end of a commit."""

import signal
import threading

import pytest
import torch

from engine.nets import BATCHES, make_model, weights
from zerograd import Step
from zerograd.engine.interrupts import Held
from zerograd.engine.outcome import Ending


class Interrupted(torch.optim.SGD):
    times = 1

    def step(self, closure=None):
        for _ in range(self.times):
            signal.raise_signal(signal.SIGINT)
        return super().step(closure)


def test_one_that_arrives_inside_the_optimizer_is_raised_after_the_commit() -> None:
    model = make_model()
    before = weights(model)
    step = Step(Interrupted(model.parameters(), lr=0.1))
    with pytest.raises(KeyboardInterrupt), step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.COMMITTED
    assert not torch.equal(before, weights(model))
    step.optimizers[0].times = 0
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.committed == 2


def test_whoever_presses_twice_is_not_kept_waiting() -> None:
    model = make_model()
    optimizer = Interrupted(model.parameters(), lr=0.1)
    optimizer.times = 2
    step = Step(optimizer)
    with pytest.raises(KeyboardInterrupt), step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.TORN


def test_one_that_arrives_in_the_block_rolls_back() -> None:
    model = make_model()
    before = weights(model)
    step = Step(Interrupted(model.parameters(), lr=0.1))
    with pytest.raises(KeyboardInterrupt), step:
        step.backward(model(BATCHES[0][0]).sum())
        signal.raise_signal(signal.SIGINT)
    assert step.outcome.kind is Ending.ROLLED_BACK
    assert torch.equal(before, weights(model))


def test_handlers_are_as_before() -> None:
    heard = []
    usual = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    mine = signal.getsignal(signal.SIGINT)
    try:
        with Held():
            signal.raise_signal(signal.SIGINT)
            assert heard == []
        assert heard == [1]
        assert signal.getsignal(signal.SIGINT) is mine
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with Held():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, mine)
        thread = threading.Thread(target=_hold_elsewhere, args=(heard,))
        thread.start()
        thread.join()
        assert heard == [1, "left alone"]
    finally:
        signal.signal(signal.SIGINT, usual)


def _hold_elsewhere(heard: list) -> None:
    handler = signal.getsignal(signal.SIGINT)
    with Held():
        if signal.getsignal(signal.SIGINT) is handler:
            heard.append("left alone")
