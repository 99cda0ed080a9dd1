"""The engine's own entrance gives what torch.autograd.backward gives; what is unusual takes the public way."""

import weakref

import pytest
import torch
from torch import nn

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError, join
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


def _pair() -> tuple[nn.Sequential, nn.Sequential, torch.Tensor]:
    return make_model(torch.float64), make_model(torch.float64), BATCHES[0][0].double()


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("public", [True, False])
def test_two_losses_of_one_forward_pass(monkeypatch: pytest.MonkeyPatch, isolate: bool, public: bool) -> None:
    if public:
        monkeypatch.setattr(entrance, "_enter", None)
    by_step, by_hand, x = _pair()
    step = Step(sgd(by_step), isolate=isolate)
    with step:
        out = by_step(x)
        step.backward(out.square().mean(), retain_graph=True)
        step.backward(out.abs().mean())
    out = by_hand(x)
    out.square().mean().backward(retain_graph=True)
    out.abs().mean().backward()
    sgd(by_hand).step()
    assert torch.equal(weights(by_step), weights(by_hand))


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("public", [True, False])
def test_without_it_the_step_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, isolate: bool, public: bool) -> None:
    if public:
        monkeypatch.setattr(entrance, "_enter", None)
    model, _, x = _pair()
    step = Step(sgd(model), isolate=isolate)
    before = weights(model)
    with pytest.raises(StepError, match=r"step\.backward\(first, retain_graph=True\)"), step:
        out = model(x)
        step.backward(out.square().mean())
        step.backward(out.abs().mean())
    assert torch.equal(weights(model), before)


def test_two_steps_of_one_forward_pass() -> None:
    nets, twins = ([nn.Linear(4, 4).double(), nn.Linear(4, 1).double()] for _ in range(2))
    for net, twin in zip(nets, twins, strict=True):
        twin.load_state_dict(net.state_dict())
    x = BATCHES[0][0].double()
    step_g, step_d = (Step(sgd(net)) for net in nets)
    with join(step_g, step_d):
        out = nets[1](nets[0](x))
        step_g.backward(-out.mean(), retain_graph=True)
        step_d.backward(out.square().mean())
    out = twins[1](twins[0](x))
    first = torch.autograd.grad(-out.mean(), list(twins[0].parameters()), retain_graph=True)
    second = torch.autograd.grad(out.square().mean(), list(twins[1].parameters()))
    for twin, grads in zip(twins, (first, second), strict=True):
        for parameter, grad in zip(twin.parameters(), grads, strict=True):
            parameter.grad = grad
        sgd(twin).step()
    assert all(torch.equal(weights(net), weights(twin)) for net, twin in zip(nets, twins, strict=True))


@pytest.mark.parametrize("scaled", [True, False])
def test_what_each_element_of_a_loss_counts(scaled: bool) -> None:
    by_step, by_hand, x = _pair()
    counts = torch.arange(8.0, dtype=torch.float64).unsqueeze(1)
    step = Step(sgd(by_step), scaler=torch.amp.GradScaler("cpu", init_scale=64.0, enabled=scaled))
    with step:
        step.backward(by_step(x), gradient=counts, weight=3)
    by_hand(x).backward(counts)
    sgd(by_hand).step()
    torch.testing.assert_close(weights(by_step), weights(by_hand), rtol=1e-12, atol=0)


def test_gradients_that_can_be_differentiated_do_not_outlive_the_block() -> None:
    by_step, by_hand, x = _pair()
    step, optimizer = Step(sgd(by_step), clip=0.1), sgd(by_hand)
    for _ in range(2):
        with step:
            step.backward(by_step(x).square().mean(), create_graph=True)
            step.backward(sum(parameter.grad.square().sum() for parameter in by_step.parameters()))
        optimizer.zero_grad()
        loss = by_hand(x).square().mean()
        grads = torch.autograd.grad(loss, list(by_hand.parameters()), create_graph=True)
        (loss + sum(grad.square().sum() for grad in grads)).backward()
        nn.utils.clip_grad_norm_(by_hand.parameters(), 0.1)
        optimizer.step()
    torch.testing.assert_close(weights(by_step), weights(by_hand), rtol=1e-12, atol=0)
    gone = weakref.ref(by_step[0].weight)
    del by_step, step, loss, grads
    assert gone() is None  # and not only when the garbage collector comes


def test_gradients_with_a_loss_scale_in_them_are_not_for_computing_with() -> None:
    model, _, x = _pair()
    for step, weight in ((Step(sgd(model), scaler=torch.amp.GradScaler("cpu")), None), (Step(sgd(model)), 3)):
        with pytest.raises(StepError, match="create_graph=True"), step:
            step.backward(model(x).square().mean(), create_graph=True, weight=weight)
