"""What is done to an open Step's slots behind its back is refused."""

import gc

import pytest
import torch
from torch import nn

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError
from zerograd.engine.guarding import Guard
from zerograd.engine.outcome import Ending
from zerograd.engine.slots import Slots

X = BATCHES[0][0]


def _only_raw(step, optimizer, model):
    model(X).sum().backward()


def _raw_first(step, optimizer, model):
    model(X).sum().backward()
    step.backward(model(X).mean())


def _raw_after(step, optimizer, model):
    step.backward(model(X).mean())
    model(X).sum().backward()


def _raw_between(step, optimizer, model):
    for _ in step.micro_batches(range(2)):
        step.backward(model(X).mean())
        model(X).sum().backward()


def _raw_of_another_part(step, optimizer, model):
    step.backward(model[2](torch.ones(2, 8)).mean())
    model(X).sum().backward()


def _cleared(step, optimizer, model):
    step.backward(model(X).mean())
    optimizer.zero_grad()


def _cleared_between(step, optimizer, model):
    for _ in step.micro_batches(range(2)):
        optimizer.zero_grad()
        step.backward(model(X).mean())


def _filled_with_zeros(step, optimizer, model):
    step.backward(model(X).mean())
    optimizer.zero_grad(set_to_none=False)


def _cleared_and_raw(step, optimizer, model):
    step.backward(model(X).mean())
    optimizer.zero_grad()
    model(X).sum().backward()


def _clipped(step, optimizer, model):
    step.backward(model(X).mean())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def _one_edited(step, optimizer, model):
    step.backward(model(X).mean())
    model[0].bias.grad.mul_(2)


def _replaced(step, optimizer, model):
    step.backward(model(X).mean())
    model[0].bias.grad = torch.ones(8)


def _stepped(step, optimizer, model):
    step.backward(model(X).mean())
    optimizer.step()


def _stepped_only(step, optimizer, model):
    optimizer.step()


REFUSED = {
    _only_raw: "foreign-deposit",
    _raw_first: "foreign-deposit",
    _raw_after: "changed-inside",
    _raw_between: "changed-inside",
    _raw_of_another_part: "foreign-deposit",
    _cleared: "cleared-inside",
    _cleared_between: "cleared-inside",
    _filled_with_zeros: "changed-inside",
    _cleared_and_raw: "changed-inside",
    _clipped: "changed-inside",
    _one_edited: "changed-inside",
    _replaced: "changed-inside",
    _stepped: "stepped-inside",
    _stepped_only: "stepped-inside",
}


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize(("act", "slug"), REFUSED.items(), ids=lambda value: getattr(value, "__name__", value))
def test_nothing_happens_behind_its_back(act, slug: str, isolate: bool) -> None:
    model = make_model()
    optimizer = sgd(model)
    step = Step(optimizer, isolate=isolate)
    before = weights(model)
    with pytest.raises(StepError) as caught, step:
        act(step, optimizer, model)
    assert caught.value.slug == slug
    assert torch.equal(before, weights(model))
    assert all(parameter.grad is None for parameter in model.parameters())
    with step:
        step.backward(model(X).mean())
    assert step.outcome.kind is Ending.COMMITTED


def test_a_foreign_loss_of_another_step_is_refused() -> None:
    """isolate=False leaks into a block that is open: the first one would have committed both."""
    G, D = nn.Linear(4, 4), nn.Linear(4, 1)
    d_step, g_step = Step(sgd(D)), Step(sgd(G), isolate=False)
    with pytest.raises(StepError, match="was changed inside"), d_step:
        d_step.backward(D(X).mean())
        with g_step:
            g_step.backward(D(G(X)).mean())
    assert g_step.outcome.kind is Ending.COMMITTED


def test_a_clear_of_what_is_empty_does_no_harm() -> None:
    model = make_model()
    optimizer = sgd(model)
    step = Step(optimizer)
    with step:
        optimizer.zero_grad()
        step.backward(model(X).mean())
    assert step.outcome.kind is Ending.COMMITTED


def test_outside_the_block_the_optimizer_is_its_owners() -> None:
    model = make_model()
    optimizer = sgd(model)
    step = Step(optimizer)
    with step:
        step.backward(model(X).mean())
    before = weights(model)
    model(X).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    assert not torch.equal(before, weights(model))


def test_steps_that_are_gone_leave_no_hooks() -> None:
    optimizer = sgd(make_model())
    for _ in range(5):
        Step(optimizer)
    gc.collect()
    assert len(optimizer._optimizer_step_pre_hooks) == 0


def test_a_wrapper_that_has_no_hooks_is_taken() -> None:
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, inner: torch.optim.Optimizer) -> None:
            self.inner, self.param_groups = inner, inner.param_groups

        def step(self, closure=None):
            return self.inner.step()

    model = make_model()
    before = weights(model)
    step = Step(Wrapper(sgd(model)))
    with step:
        step.backward(model(X).mean())
    assert not torch.equal(before, weights(model))


def test_sparse_gradients_accumulate_without_alarm() -> None:
    table = nn.Embedding(6, 3, sparse=True)
    step = Step(torch.optim.SparseAdam(list(table.parameters())))
    with step:
        for rows in step.micro_batches(torch.tensor([[1, 1], [2, 3], [1, 5]])):
            step.backward(table(rows).mean())
            table.weight.grad = table.weight.grad.coalesce()
    assert step.outcome.kind is Ending.COMMITTED


def test_views_of_one_bucket_share_a_counter_without_alarm() -> None:
    """As DDP lays gradients out: one buffer, one version for all, and new views when the buckets are rebuilt."""
    slots = [nn.Parameter(torch.zeros(3)) for _ in range(2)]
    guard = Guard([])
    guard.open(Slots([torch.optim.SGD(slots)], None))
    for slot, view in zip(slots, torch.ones(6).split(3), strict=True):
        slot.grad = view
    guard.mark()
    slots[0].grad.add_(1)
    assert len(guard.check()) == 2
    for slot, view in zip(slots, torch.ones(6).split(3), strict=True):
        slot.grad = view
    assert len(guard.check()) == 2
    slots[1].grad = None
    with pytest.raises(StepError, match="1 slot was cleared"):
        guard.check()
