"""A copied Step is one of its own: it guards the copied optimizers, and shares nothing with the first."""

import copy

import pytest
import torch

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError

X, Y = BATCHES[0]


def _loss(model: torch.nn.Module) -> torch.Tensor:
    return torch.nn.functional.mse_loss(model(X), Y)


def _block(step: Step, model: torch.nn.Module) -> None:
    with step:
        step.backward(_loss(model))


@pytest.mark.parametrize("scaled", [False, True], ids=["", "scaled"])
def test_both_go_on_alike_and_apart(scaled: bool) -> None:
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0) if scaled else None
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    step = Step(optimizer, model=model, clip=0.1, scaler=scaler, scheduler=schedule)
    _block(step, model)
    twin, theirs = copy.deepcopy((model, step))
    for _ in range(2):
        _block(step, model)
    before = weights(twin)
    assert not torch.equal(weights(model), before)
    for _ in range(2):
        _block(theirs, twin)
    assert torch.equal(weights(model), weights(twin))
    assert (theirs.committed, theirs.optimizers[0].param_groups[0]["lr"]) == (3, optimizer.param_groups[0]["lr"])


def test_the_copy_is_guarded_and_shares_no_parameters() -> None:
    model = make_model()
    step = Step(sgd(model))
    _block(step, model)
    twin, theirs = copy.deepcopy((model, step))
    with pytest.raises(StepError, match="step"), theirs:
        theirs.backward(_loss(twin))
        theirs.optimizers[0].step()
    with step:
        step.backward(_loss(model))
        _block(theirs, twin)
    assert (step.committed, theirs.committed) == (2, 2)


def test_an_open_one_is_not_copied() -> None:
    model = make_model()
    step = Step(sgd(model))
    with pytest.raises(StepError, match="copied"), step:
        copy.deepcopy(step)
