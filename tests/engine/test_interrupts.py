"""Signals whose handlers are Python's wait for the end of a commit."""

import signal
import threading

import pytest
import torch

from engine.nets import BATCHES, make_model, weights
from zerograd import Step
from zerograd.engine.interrupts import hold_signals, release_signals
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


class TimeLimit(Exception):
    pass


def _raise_time_limit(*_: object) -> None:
    raise TimeLimit


def test_any_handler_of_pythons_is_held(monkeypatch) -> None:
    model = make_model()
    before = weights(model)
    step = Step(Interrupted(model.parameters(), lr=0.1))
    monkeypatch.setattr(signal, "SIGINT", signal.SIGALRM)  # what the optimizer sends itself
    usual = signal.signal(signal.SIGALRM, _raise_time_limit)
    try:
        with pytest.raises(TimeLimit), step:
            step.backward(model(BATCHES[0][0]).sum())
        assert signal.getsignal(signal.SIGALRM) is _raise_time_limit
    finally:
        signal.signal(signal.SIGALRM, usual)
    assert step.outcome.kind is Ending.COMMITTED
    assert step.committed == 1
    assert not torch.equal(before, weights(model))


def test_handlers_are_as_before() -> None:
    heard = []
    usual = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    mine = signal.getsignal(signal.SIGINT)
    held = object()
    try:
        hold_signals(held)
        hold_signals(held)  # what is held is held
        signal.raise_signal(signal.SIGINT)
        assert heard == []
        release_signals(held)
        release_signals(held)
        assert heard == [1]
        assert signal.getsignal(signal.SIGINT) is mine
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        hold_signals(held)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        release_signals(held)
        signal.signal(signal.SIGINT, mine)
        thread = threading.Thread(target=_hold_elsewhere, args=(heard,))
        thread.start()
        thread.join()
        assert heard == [1, "left alone"]
    finally:
        signal.signal(signal.SIGINT, usual)


def test_what_is_put_there_meanwhile_stays() -> None:
    usual = signal.getsignal(signal.SIGALRM)
    held = object()
    try:
        signal.signal(signal.SIGALRM, _raise_time_limit)
        hold_signals(held)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        release_signals(held)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGALRM, usual)


def test_several_are_all_delivered() -> None:
    heard: list[int] = []
    numbers = [signal.SIGALRM, signal.SIGUSR1]
    usual = [signal.signal(number, lambda got, _: heard.append(got)) for number in numbers]
    held = object()
    try:
        hold_signals(held)
        for number in (*numbers, *numbers):
            signal.raise_signal(number)
        release_signals(held)
        assert heard == numbers
    finally:
        for number, handler in zip(numbers, usual, strict=True):
            signal.signal(number, handler)


def _hold_elsewhere(heard: list) -> None:
    handler = signal.getsignal(signal.SIGINT)
    held = object()
    hold_signals(held)
    if signal.getsignal(signal.SIGINT) is handler:
        heard.append("left alone")
    release_signals(held)
