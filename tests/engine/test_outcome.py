"""The outcome tells what happened to the weights, whatever raises."""

import warnings

import pytest
import torch

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError
from zerograd.core.events import Event, Kind
from zerograd.engine.outcome import Ending
from zerograd.errors import TornStep


class Torn(torch.optim.SGD):
    error: BaseException = MemoryError("half-way")

    def step(self, closure=None):
        super().step(closure)
        raise self.error


def test_a_torn_step_says_so_and_goes_no_further() -> None:
    model = make_model()
    step = Step(Torn(model.parameters(), lr=0.1))
    with pytest.raises(TornStep, match="MemoryError"), step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.TORN
    with pytest.raises(StepError, match="torn"), step:
        pass


def test_ctrl_c_inside_the_optimizer_is_not_swallowed_by_a_handler_of_ours() -> None:
    model = make_model()
    optimizer = Torn(model.parameters(), lr=0.1)
    optimizer.error = KeyboardInterrupt()
    step = Step(optimizer)
    with pytest.raises(KeyboardInterrupt), step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.TORN
    assert all(parameter.grad is None for parameter in model.parameters())
    with pytest.raises(StepError, match="torn"), step:
        pass


class Trace:
    """Raises at the nth event of a kind."""

    def __init__(self, kind: Kind, nth: int) -> None:
        self.kind, self.left = kind, nth

    def __call__(self, event: Event) -> None:
        self.left -= event.kind is self.kind
        if event.kind is self.kind and self.left == 0:
            raise OSError("disk full")


def test_a_trace_that_raises_on_entering_leaves_nothing_open() -> None:
    model = make_model()
    step = Step(sgd(model), trace=Trace(Kind.CLEAR, 1))
    with pytest.raises(OSError, match="disk full"), step:
        pass
    for again in (Step(sgd(model)), step):  # the slots are nobody's, and the Step is not open
        with again:
            again.backward(model(BATCHES[0][0]).sum())
        assert again.outcome.kind is Ending.COMMITTED


@pytest.mark.parametrize(
    ("kind", "nth", "ending", "moved"),
    [
        (Kind.CLEAR, 2, Ending.COMMITTED, True),
        (Kind.CONSUME, 1, Ending.ROLLED_BACK, False),
        (Kind.DEPOSIT, 1, Ending.ROLLED_BACK, False),
    ],
)
def test_a_trace_that_raises_does_not_make_the_outcome_untrue(
    kind: Kind, nth: int, ending: Ending, moved: bool
) -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model), trace=Trace(kind, nth))
    with pytest.raises(OSError, match="disk full"), step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is ending
    assert torch.equal(before, weights(model)) is not moved
    assert step.committed == moved
    assert all(parameter.grad is None for parameter in model.parameters())
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.COMMITTED


def test_a_skip_stays_a_skip_when_its_warning_is_an_error() -> None:
    model = make_model()
    step = Step(sgd(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning), step:
            step.backward(model(BATCHES[0][0]).sum() * float("inf"))
    assert (step.outcome.kind, step.skipped) == (Ending.SKIPPED, 1)


def test_a_schedule_that_raises_is_told_as_one() -> None:
    model = make_model()
    optimizer = sgd(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda count: 1 / (1 - count))
    step = Step(optimizer, scheduler=schedule)
    with pytest.raises(TornStep, match=r"LambdaLR\.step\(\) raised ZeroDivisionError") as caught, step:
        step.backward(model(BATCHES[0][0]).sum())
    assert caught.value.cure.startswith("The weights have moved, and the schedule has not")
