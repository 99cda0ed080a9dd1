"""A function that a decorator keeps in a cell is patched there: names that were imported early are patched too."""

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_value_  # before any audit begins

import zerograd
from zerograd.run.patching import patch_cell


def test_a_cell_is_patched_and_put_back() -> None:
    def decorated(function: Callable[[int], int]) -> Callable[[int], int]:
        def wrapper(number: int) -> int:
            return function(number)

        return wrapper

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda number: 10 * real(number)

    plus_one = decorated(lambda number: number + 1)
    with contextlib.ExitStack() as undo:
        patch_cell(plus_one, around, undo)
        assert plus_one(1) == 20
    assert plus_one(1) == 2


def test_what_is_built_otherwise_stays_as_it_is() -> None:
    with contextlib.ExitStack() as undo:
        patch_cell(len, lambda real: real, undo)
        patch_cell(lambda: None, lambda real: real, undo)


def test_a_clip_that_was_imported_early_is_heard_and_clips() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
            clip_grad_value_((parameter for parameter in [weight]), 0.5)  # a generator is still read once
    assert [finding.code for finding in watch.findings] == ["ZG302"]
    assert weight.grad is not None
    assert weight.grad.tolist() == [0.5, 0.5, 0.5]
    with pytest.raises(RuntimeError):  # torch's own answer to nothing, with the audit and without
        clip_grad_value_([], 0.5)


def _warned() -> list[tuple[str, str, int]]:
    """What torch warns of, and to whose account it lays that."""
    weight = nn.Parameter(torch.ones(3))
    replica = nn.Linear(2, 2)
    replica._is_replica = True
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        optimizer = torch.optim.SGD([weight, weight], lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        schedule.step()
        schedule.step(2)
        replica.zero_grad()
        _Warning.apply(weight).sum().backward()
    return [(str(one.message), one.filename, one.lineno) for one in seen]


class _Warning(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        warnings.warn("as C++ would", stacklevel=3)
        return gradient


def test_a_warning_names_the_line_that_it_names_without_an_audit() -> None:
    plain = _warned()
    with zerograd.audit(on_finding="collect"):
        audited = _warned()
    assert audited == plain
    assert len(plain) == 5
    assert sum(path == __file__ for _, path, _ in plain) == 3
