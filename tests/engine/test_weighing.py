"""What one step teaches the next about weights."""

import pytest
import torch
from torch import nn

from zerograd import Step
from zerograd.engine.outcome import Ending
from zerograd.errors import StepError


def _overflowing(step: Step, weight: nn.Parameter) -> None:
    with step:
        for _ in step.micro_batches(range(8)):
            step.backward((weight * 30000.0).sum())


def test_an_overflow_that_only_the_sum_has_is_got_over() -> None:
    """8 x 30,000 is infinite in fp16, its mean is not. The total was learned from commits alone, so none ever came."""
    weight = nn.Parameter(torch.zeros(4, dtype=torch.float16))
    step = Step(torch.optim.SGD([weight], lr=1e-5), clip=1e9)
    with pytest.warns(RuntimeWarning, match="skipped a step"):
        _overflowing(step, weight)
    assert step.outcome.kind is Ending.SKIPPED
    _overflowing(step, weight)
    assert step.outcome.kind is Ending.COMMITTED
    assert step.outcome.norm == pytest.approx(60000.0, rel=1e-3)


def test_also_when_it_raises() -> None:
    weight = nn.Parameter(torch.zeros(4, dtype=torch.float16))
    step = Step(torch.optim.SGD([weight], lr=1e-5), nonfinite="raise")
    with pytest.raises(StepError, match="not finite"):
        _overflowing(step, weight)
    _overflowing(step, weight)
    assert step.outcome.kind is Ending.COMMITTED
