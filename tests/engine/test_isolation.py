"""A Step leaves gradients in its own parameters only, whatever runs inside the backward."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step
from zerograd.engine.isolation import may_run_inner_backward
from zerograd.engine.outcome import Ending

JUDGE = nn.Linear(4, 1)  # reached by a checkpointed function through its globals


def test_a_generator_leaves_nothing_in_the_discriminator() -> None:
    G, D = nn.Linear(2, 4), nn.Linear(4, 1)
    step = Step(sgd(G))
    with step:
        step.backward(D(G(torch.randn(3, 2))).sum())
    assert D.weight.grad is None


@pytest.mark.parametrize("reentrant", [False, True])
def test_isolation_survives_checkpointing(reentrant: bool) -> None:
    G, D = nn.Linear(2, 4), nn.Linear(4, 1)
    D.weight.grad = kept = torch.ones_like(D.weight)
    before = G.weight.detach().clone()
    step = Step(sgd(G))
    with step:
        step.backward(checkpoint(D, G(torch.randn(3, 2)), use_reentrant=reentrant).sum())
    assert not torch.equal(before, G.weight)
    assert D.weight.grad is kept
    assert torch.equal(kept, torch.ones_like(kept))
    assert D.bias.grad is None


def test_checkpointed_parameters_of_its_own_are_updated() -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model))
    with step:
        hidden = checkpoint(model[0], BATCHES[0][0].clone().requires_grad_(), use_reentrant=True)
        step.backward(model[2](hidden).sum())
    assert (before != weights(model)).all()


def test_one_call_site_with_and_without_checkpointing() -> None:
    """What the first loss of a call site was like says nothing about the next one: the hidden layer stood still."""
    model, by_hand = make_model(), make_model()
    step, optimizer = Step(sgd(model)), sgd(by_hand)

    def forward(net: nn.Sequential, x: torch.Tensor, checkpointed: bool) -> torch.Tensor:
        hidden = checkpoint(net[0], x, use_reentrant=True) if checkpointed else net[0](x)
        return net[2](hidden.tanh()).sum()

    for (x, _), checkpointed in zip(BATCHES, [False, False, True, False, True, True], strict=True):
        x = x.clone().requires_grad_()
        with step:
            step.backward(forward(model, x, checkpointed))
        optimizer.zero_grad()
        forward(by_hand, x, checkpointed).backward()
        optimizer.step()
        assert torch.equal(weights(model), weights(by_hand))


@pytest.mark.filterwarnings("ignore")  # torch.compile's own
def test_a_compiled_model_is_like_any_other() -> None:
    G, D = nn.Linear(4, 4), nn.Linear(4, 1)
    twin = nn.Linear(4, 4)
    twin.load_state_dict(G.state_dict())
    compiled = torch.compile(lambda x: D(G(x).tanh()).square().mean(), backend="aot_eager")
    step, optimizer = Step(sgd(G), clip=0.1), sgd(twin)
    for x, _ in BATCHES[:3]:
        with step:
            step.backward(compiled(x))
        optimizer.zero_grad()
        D(twin(x).tanh()).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.1)
        optimizer.step()
        D.zero_grad()
    torch.testing.assert_close(weights(G), weights(twin))
    assert all(parameter.grad is None for parameter in D.parameters())


class Again(torch.autograd.Function):
    """A checkpoint that somebody wrote at home, without asking torch whether it may."""

    @staticmethod
    def forward(ctx, module, value):
        ctx.inner = module
        ctx.save_for_backward(value)
        with torch.no_grad():
            return module(value)

    @staticmethod
    def backward(ctx, grad):
        (value,) = ctx.saved_tensors
        value = value.detach().requires_grad_()
        with torch.enable_grad():
            ctx.inner(value).backward(grad)
        return None, value.grad


def test_a_function_that_runs_a_backward_of_its_own() -> None:
    model, by_hand = make_model(), make_model()
    x = BATCHES[0][0].clone().requires_grad_()
    step, optimizer = Step(sgd(model)), sgd(by_hand)
    with step:
        step.backward(model[2](Again.apply(model[0], x).tanh()).sum())
    by_hand[2](Again.apply(by_hand[0], x).tanh()).sum().backward()
    optimizer.step()
    assert torch.equal(weights(model), weights(by_hand))


def test_what_such_a_function_reaches_keeps_its_own_gradients() -> None:
    G, D = nn.Linear(2, 4), nn.Linear(4, 1)
    D.weight.grad = kept = torch.ones_like(D.weight)
    step = Step(sgd(G))
    with step:
        step.backward(Again.apply(D, G(torch.randn(3, 2))).sum())
    assert step.outcome.kind is Ending.COMMITTED
    assert D.weight.grad is kept
    assert torch.equal(kept, torch.ones_like(kept))
    assert D.bias.grad is None


def test_a_module_reached_through_globals_keeps_its_own_gradients() -> None:
    G = nn.Linear(2, 4)
    step = Step(sgd(G))
    with step:
        step.backward(checkpoint(lambda hidden: JUDGE(hidden), G(torch.randn(3, 2)), use_reentrant=True).sum())
    assert step.outcome.kind is Ending.COMMITTED
    assert JUDGE.weight.grad is None


def test_graphs_without_foreign_code_take_the_short_way() -> None:
    model = make_model()
    x = BATCHES[0][0].clone().requires_grad_()
    hooked = make_model()
    hooked[0].register_full_backward_hook(lambda *_: None)  # a Python node, but torch's own
    checkpointed = checkpoint(model[0], x, use_reentrant=True)  # alive: so that the others are really looked at
    assert may_run_inner_backward(model[2](checkpointed).sum())
    assert may_run_inner_backward(Again.apply(model, x))
    assert not may_run_inner_backward(model(x).sum())
    assert not may_run_inner_backward(hooked(x).sum())
    assert not may_run_inner_backward(checkpoint(model, x, use_reentrant=False).sum())
    assert not may_run_inner_backward(nn.Parameter(torch.zeros(())))
