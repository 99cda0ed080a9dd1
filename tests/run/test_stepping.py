"""A step is running while it is on the stack: not longer, and however often it is announced."""

import contextlib
import gc
import weakref

import torch
from torch import nn

from zerograd.run.stepping import Stepping


def _optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)


class Announced:
    """Stands for torch's wrapper around step()."""

    def __init__(self) -> None:
        self.stepping = Stepping()

    def step(self, optimizer, *, inside=lambda: None, fails: bool = False, ends: list[bool] | None = None) -> bool:
        own = self.stepping.begin(optimizer)
        inside()
        if fails:
            raise ValueError
        outermost = self.stepping.end(optimizer)
        if ends is not None:
            ends.append(outermost)
        return own


def test_a_step_inside_a_step_is_a_part_of_it() -> None:
    run, optimizer, ends = Announced(), _optimizer(), []
    inner = []
    assert run.step(optimizer, inside=lambda: inner.append(run.step(optimizer, ends=ends)), ends=ends)
    assert (inner, ends) == ([False], [False, True])
    assert run.stepping.optimizers() == []


def test_another_optimizer_inside_is_a_step_of_its_own() -> None:
    run, outer, inner = Announced(), _optimizer(), _optimizer()
    seen = []
    run.step(outer, inside=lambda: run.step(inner, inside=lambda: seen.extend(run.stepping.optimizers())))
    assert seen == [outer, inner]


def test_a_step_that_raised_is_over() -> None:
    run, optimizer = Announced(), _optimizer()
    for _ in range(2):
        with contextlib.suppress(ValueError):
            run.step(optimizer, fails=True)
    assert run.stepping.optimizers() == []
    assert run.step(optimizer)


def test_an_inner_step_that_raised_and_was_caught() -> None:
    run, optimizer, ends = Announced(), _optimizer(), []

    def caught() -> None:
        with contextlib.suppress(ValueError):
            run.step(optimizer, fails=True)

    assert run.step(optimizer, inside=caught, ends=ends)
    assert run.step(optimizer, ends=ends)
    assert ends == [True, True]


def test_a_step_that_raised_keeps_nothing_alive() -> None:
    run, optimizer = Announced(), _optimizer()
    dead = weakref.ref(optimizer)
    with contextlib.suppress(ValueError):
        run.step(optimizer, fails=True)
    del optimizer
    gc.collect()
    assert dead() is None
