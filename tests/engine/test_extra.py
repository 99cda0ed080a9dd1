"""backward(also=) leaves the loss's own gradient in other leaves."""

import pytest
import torch
from torch import nn

from engine.nets import make_model, sgd
from zerograd import Step, StepError


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_gradient_of_the_loss_itself(scaled: bool, isolate: bool) -> None:
    model = make_model()
    x = torch.randn(5, 4, requires_grad=True)
    x.grad = torch.full((5, 4), 9.0)  # from somewhere else
    step = Step(sgd(model), scaler=torch.amp.GradScaler("cpu", enabled=scaled), isolate=isolate)
    expected = torch.autograd.grad(model(x).square().mean() + model(x).sin().mean(), x)[0]
    with step:
        for _ in step.micro_batches([1], weight=lambda _: 12):
            step.backward(model(x).square().mean(), also=[x])
            step.backward(model(x).sin().mean(), also=(x, x))
    torch.testing.assert_close(x.grad, expected)
    with step:
        step.backward(model(x * 1.0).mean(), also=[x])
    assert float(x.grad.abs().max()) < 9  # each block begins at nothing


def test_it_is_put_back_if_the_block_does_not_commit() -> None:
    model = make_model()
    x = torch.randn(5, 4, requires_grad=True)
    x.grad = kept = torch.ones(5, 4)
    step = Step(sgd(model))
    with pytest.raises(ZeroDivisionError), step:
        step.backward(model(x).mean(), also=[x])
        raise ZeroDivisionError
    assert x.grad is kept
    assert torch.equal(kept, torch.ones(5, 4))


def test_what_gets_none_is_refused() -> None:
    model = make_model()
    step = Step(sgd(model))
    for leaf, match in ((torch.randn(5, 4), "gets no gradient"), (model[0].weight, "a parameter of the step")):
        with pytest.raises(StepError, match=match), step:
            step.backward(model(torch.randn(5, 4)).mean(), also=[leaf])
    with step:
        with pytest.raises(StepError, match="gets no gradient"):
            step.backward(model(torch.randn(5, 4)).mean(), also=[nn.Parameter(torch.ones(1)) * 2])
        step.backward(model(torch.randn(5, 4)).mean())
    assert step.outcome.moved


def test_a_deposit_that_weighs_nothing_gives_nothing() -> None:
    model = make_model()
    x = torch.randn(5, 4, requires_grad=True)
    x.grad = torch.full((5, 4), 9.0)
    step = Step(sgd(model))
    with step:
        step.backward(model(x).mean(), weight=0, also=[x])
    assert x.grad is None
    expected = torch.autograd.grad(model(x).mean(), x)[0]
    with step:
        step.backward(model(x).mean(), weight=2, also=[x])
        step.backward(model(x).sum(), weight=0, also=[x])
    torch.testing.assert_close(x.grad, expected)


@pytest.mark.parametrize("isolate", [True, False])
def test_what_was_computed_gets_one_if_it_retains_it(isolate: bool) -> None:
    model = make_model()
    x = torch.randn(5, 4, requires_grad=True)
    shifted = x + 1.0
    shifted.retain_grad()
    step = Step(sgd(model), isolate=isolate, scaler=torch.amp.GradScaler("cpu"))
    expected = torch.autograd.grad(model(shifted).square().mean(), shifted)[0]
    with step:
        step.backward(model(shifted).square().mean(), also=[shifted])
    torch.testing.assert_close(shifted.grad, expected)
