"""One block: aborts, broken backwards and micro-batches keep to it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import torch

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError
from zerograd.engine.outcome import Ending

X = BATCHES[0][0]


def test_abort_gives_the_step_up_quietly() -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model))
    with step:
        step.backward(model(X).sum())
        step.abort()
    assert step.outcome.kind is Ending.ABORTED
    assert torch.equal(before, weights(model))


def test_micro_batches_that_weigh_nothing_are_left_out() -> None:
    model = make_model()
    step = Step(sgd(model))
    with step:
        seen = list(step.micro_batches([0, 0], weight=float))
    assert seen == []
    assert (step.outcome.kind, step.outcome.cause) == (Ending.SKIPPED, "every micro-batch weighed 0")


def test_an_outer_step_is_aborted_from_an_inner_block() -> None:
    """The inner block took the abort for its own, and the outer one committed."""
    outer_model, inner_model = make_model(), make_model()
    before = weights(outer_model)
    outer, inner = Step(sgd(outer_model)), Step(sgd(inner_model))
    with outer:
        outer.backward(outer_model(X).sum())
        with inner:
            inner.backward(inner_model(X).sum())
            outer.abort()
    assert torch.equal(before, weights(outer_model))
    assert torch.equal(before, weights(inner_model))
    assert (outer.outcome.kind, inner.outcome.kind) == (Ending.ABORTED, Ending.ROLLED_BACK)
    assert "outer block" in inner.outcome.cause


def test_an_abort_that_is_swallowed_is_obeyed_all_the_same() -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model))
    after_the_abort = []
    with step:
        step.backward(model(X).sum())
        try:
            step.abort()
        except:  # noqa: E722
            after_the_abort.append("swallowed")
    assert after_the_abort == ["swallowed"]
    assert step.outcome.kind is Ending.ABORTED
    assert torch.equal(before, weights(model))
    with step:
        with suppress(BaseException):
            step.abort()
        step.backward(model(X).sum())
        after_the_abort.append("went on")
    assert after_the_abort == ["swallowed"]
    assert step.outcome.kind is Ending.ABORTED
    with step:
        step.backward(model(X).sum())
    assert step.outcome.kind is Ending.COMMITTED


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        raise MemoryError


@pytest.mark.parametrize("again", [True, False])
def test_a_broken_backward_is_not_mended_by_a_good_one(again: bool) -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model))
    with pytest.raises(StepError, match="was caught there"), step:
        with suppress(MemoryError):
            step.backward(model(Bad.apply(X.clone().requires_grad_())).sum() + Bad.apply(model(X)).sum())
        if again:
            step.backward(model(X).sum())
    assert torch.equal(before, weights(model))
    with step:
        step.backward(model(X).sum())
    assert step.outcome.kind is Ending.COMMITTED


def _zipped(step: Step, model: torch.nn.Module) -> None:
    for _ in zip(step.micro_batches(range(2)), step.micro_batches(range(2)), strict=True):
        step.backward(model(X).mean())


def _nested(step: Step, model: torch.nn.Module) -> None:
    for _ in step.micro_batches(range(2)):
        for _ in step.micro_batches(range(2)):
            step.backward(model(X).mean())


def _after_leaving(step: Step, model: torch.nn.Module) -> None:
    for _ in step.micro_batches(range(2)):
        step.backward(model(X).mean())
        break
    for _ in step.micro_batches(range(2)):
        step.backward(model(X).mean())


@pytest.mark.parametrize("loop", [_zipped, _nested, _after_leaving])
def test_one_group_at_a_time(loop) -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model))
    with pytest.raises(StepError, match="under way already"), step:
        loop(step, model)
    assert torch.equal(before, weights(model))


def test_one_group_after_another() -> None:
    model = make_model()
    step = Step(sgd(model))
    with step:
        for _ in range(2):
            for _ in step.micro_batches(range(3)):
                step.backward(model(X).mean())
    assert step.outcome.micro_batches == 6


def test_a_group_does_not_outlive_its_block() -> None:
    model = make_model()
    step = Step(sgd(model))
    with suppress(StepError), step:
        begun = step.micro_batches(range(3))
        unused = step.micro_batches(range(3))
        next(begun)
    for stale in (begun, unused):
        with pytest.raises(StepError, match="earlier block"), step:
            step.backward(model(X).mean(), weight=1)
            next(stale)


def test_parameters_that_join_inside_the_block_move_with_the_next_one() -> None:
    model, late = make_model(), torch.nn.Linear(4, 1)
    optimizer = sgd(model)
    step = Step(optimizer, clip=0.01)
    late(BATCHES[0][0]).sum().backward()  # a probe, before
    stale, before = late.weight.grad, weights(late)
    with step:
        step.backward(model(BATCHES[0][0]).sum())
        optimizer.add_param_group({"params": late.parameters()})
    assert torch.equal(weights(late), before)
    assert late.weight.grad is None
    with step:
        step.backward(late(BATCHES[0][0]).sum() + model(BATCHES[0][0]).sum())
    assert not torch.equal(weights(late), before)
    assert stale is not None


def test_a_block_that_fails_leaves_gradients_of_late_parameters_alone() -> None:
    model, late = make_model(), torch.nn.Linear(4, 1)
    optimizer = sgd(model)
    step = Step(optimizer, inspect=lambda named: 1 / 0)
    late(BATCHES[0][0]).sum().backward()
    stale = late.weight.grad
    with pytest.raises(ZeroDivisionError), step:
        step.backward(model(BATCHES[0][0]).sum())
        optimizer.add_param_group({"params": late.parameters()})
    assert late.weight.grad is stale


def test_a_block_is_left_by_its_own_thread() -> None:
    model = make_model()
    before, step = weights(model), Step(sgd(model))
    step.__enter__()
    step.backward(model(X).sum())
    with ThreadPoolExecutor(1) as other, pytest.raises(StepError, match="the block is left from another thread"):
        other.submit(step.__exit__, None, None, None).result()
    assert torch.equal(before, weights(model))
    step.__exit__(None, None, None)
    assert step.outcome.kind is Ending.COMMITTED
    assert not torch.equal(before, weights(model))
