"""The engine's own entrance gives what torch.autograd.backward gives; what is unusual takes the public way."""

import pytest
import torch
from torch import nn

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError
from zerograd.engine import entrance


@pytest.mark.parametrize("isolate", [True, False])
def test_both_ways_are_the_same(monkeypatch: pytest.MonkeyPatch, isolate: bool) -> None:
    assert entrance._enter is not None
    results = []
    for _ in range(2):
        model = make_model()
        step = Step(sgd(model), isolate=isolate)
        for x, y in BATCHES:
            with step:
                step.backward(nn.functional.mse_loss(model(x), y))
        results.append(weights(model))
        monkeypatch.setattr(entrance, "_enter", None)
    assert torch.equal(*results)


def test_a_loss_with_a_dimension_and_a_complex_one_take_the_public_way() -> None:
    model = make_model()
    step = Step(sgd(model))
    with step:
        step.backward(model(BATCHES[0][0]).sum(0))  # one element: torch takes it
    assert step.outcome.moved
    with pytest.raises(RuntimeError, match="scalar outputs"), step:
        step.backward(model(BATCHES[0][0]))
    with pytest.raises(RuntimeError, match="real scalar"), step:
        step.backward(model(BATCHES[0][0]).sum() * 1j)


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(2)


def test_a_backward_that_changes_what_it_is_given_spoils_one_step_only() -> None:
    weight = nn.Parameter(torch.ones(()))
    step = Step(torch.optim.SGD([weight], lr=1.0))
    for _ in range(3):
        with step:
            step.backward(InPlace.apply(weight * 1.0))
    assert float(weight.detach()) == 1 - 3 * 2


def test_everything_frozen_is_said() -> None:
    model, other = make_model(), make_model()
    step = Step(sgd(model))
    model.requires_grad_(False)
    with pytest.raises(StepError, match="is frozen"), step:
        step.backward(other(BATCHES[0][0]).sum())
