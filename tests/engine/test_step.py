"""What a Step computes, and what it refuses."""

import gc

import pytest
import torch
from torch import nn

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Diverged, Step, groups
from zerograd.engine.outcome import Ending

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "adam": (torch.optim.Adam, {"lr": 0.01}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.01}),
}
FORMS = {"plain": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
# RMSprop has no fused form.
BOTH = [(name, form) for name in OPTIMIZERS for form in FORMS if (name, form) != ("rmsprop", "fused")]


@pytest.mark.parametrize("clip", [None, 0.05])
@pytest.mark.parametrize(("name", "form"), BOTH)
def test_a_plain_loop_is_bitwise_the_same(name: str, form: str, clip: float | None) -> None:
    """Whether it clears after the forward pass (pattern A) or at the top of the iteration (pattern B)."""
    pattern_a, pattern_b, by_step = make_model(), make_model(), make_model()
    kind, options = OPTIMIZERS[name]
    a, b, mine = (kind(net.parameters(), **options, **FORMS[form]) for net in (pattern_a, pattern_b, by_step))
    step = Step(mine, clip=clip)
    for x, y in BATCHES:
        b.zero_grad()
        for net, optimizer in ((pattern_a, a), (pattern_b, b)):
            loss = nn.functional.mse_loss(net(x), y)
            if optimizer is a:
                a.zero_grad()
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
            optimizer.step()
        with step:
            step.backward(nn.functional.mse_loss(by_step(x), y))
    assert torch.equal(weights(pattern_a), weights(by_step))
    assert torch.equal(weights(pattern_b), weights(by_step))
    assert step.committed == len(BATCHES)


def test_unequal_micro_batches_equal_the_full_batch() -> None:
    x, y = torch.randn(23, 4, dtype=torch.float64), torch.randn(23, 1, dtype=torch.float64)
    whole, parts = make_model(torch.float64), make_model(torch.float64)
    whole_step = Step(torch.optim.SGD(whole.parameters(), lr=0.1))
    parts_step = Step(torch.optim.SGD(parts.parameters(), lr=0.1), clip=10.0)
    for _ in range(5):
        with whole_step:
            whole_step.backward(nn.functional.mse_loss(whole(x), y))
        for group in groups(zip(x.split(5), y.split(5), strict=True), 9):
            with parts_step:
                for part, target in parts_step.micro_batches(group, weight=lambda b: len(b[0])):
                    parts_step.backward(nn.functional.mse_loss(parts(part), target))
    assert torch.allclose(weights(whole), weights(parts), rtol=1e-12, atol=0)
    assert parts_step.outcome.weight == 23
    assert parts_step.outcome.micro_batches == 5


def test_two_losses_of_one_micro_batch_add() -> None:
    a, b = make_model(torch.float64), make_model(torch.float64)
    x = torch.randn(6, 4, dtype=torch.float64)
    step = Step(torch.optim.SGD(a.parameters(), lr=0.1))
    with step:
        for part in step.micro_batches(x.split(2), weight=len):
            step.backward(a(part).mean())
            step.backward(a(part).square().mean())
    optimizer = torch.optim.SGD(b.parameters(), lr=0.1)
    (b(x).mean() + b(x).square().mean()).backward()
    optimizer.step()
    assert torch.allclose(weights(a), weights(b), rtol=1e-12)


def test_summed_micro_batches() -> None:
    a, b = make_model(torch.float64), make_model(torch.float64)
    x = torch.randn(6, 4, dtype=torch.float64)
    step = Step(torch.optim.SGD(a.parameters(), lr=0.1))
    with step:
        for part in step.micro_batches(x.split(2), reduce="sum"):
            step.backward(a(part).sum())
    optimizer = torch.optim.SGD(b.parameters(), lr=0.1)
    b(x).sum().backward()
    optimizer.step()
    assert torch.allclose(weights(a), weights(b), rtol=1e-12)


def test_several_optimizers_commit_together() -> None:
    model = make_model()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    step = Step([torch.optim.SGD(model[0].parameters(), lr=0.1), torch.optim.Adam(model[2].parameters(), lr=0.1)])
    with step:
        step.backward(model(BATCHES[0][0]).square().mean())
    assert all(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_an_exception_leaves_nothing_behind() -> None:
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    step = Step(optimizer)
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    before, state = weights(model), optimizer.state_dict()["state"][0]["exp_avg"].clone()
    with pytest.raises(ZeroDivisionError), step:
        step.backward(model(BATCHES[1][0]).sum())
        1 / 0  # noqa: B018
    assert torch.equal(before, weights(model))
    assert torch.equal(state, optimizer.state_dict()["state"][0]["exp_avg"])
    assert all(parameter.grad is None for parameter in model.parameters())
    assert step.outcome.kind is Ending.ROLLED_BACK
    assert "ZeroDivisionError" in step.outcome.cause


def test_what_lay_there_before_the_block_is_not_consumed() -> None:
    model, clean = make_model(), make_model()
    model(BATCHES[0][0]).sum().backward()
    for net in (model, clean):
        step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
        with step:
            step.backward(net(BATCHES[1][0]).sum())
    assert torch.equal(weights(model), weights(clean))


def test_a_step_that_is_not_finite_is_skipped() -> None:
    model = make_model()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    before = weights(model)
    with pytest.warns(RuntimeWarning, match="skipped a step"), step:
        step.backward(model(BATCHES[0][0]).sum() * float("inf"))
    assert torch.equal(before, weights(model))
    assert (step.outcome.kind, step.committed, step.skipped) == (Ending.SKIPPED, 0, 1)
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.COMMITTED


def test_divergence_is_not_hidden() -> None:
    model = make_model()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), max_skips=3)
    with pytest.warns(RuntimeWarning), pytest.raises(Diverged, match="3 steps in a row"):
        for _ in range(3):
            with step:
                step.backward(model(BATCHES[0][0]).sum() * float("nan"))
    assert (step.outcome.kind, step.skipped) == (Ending.SKIPPED, 3)


def test_a_parameter_of_two_optimizers_is_one_slot() -> None:
    """It was divided by the denominator twice, and its norm counted twice."""
    model, by_hand = make_model(torch.float64), make_model(torch.float64)
    x = torch.randn(6, 4, dtype=torch.float64)
    step = Step([sgd(model), torch.optim.SGD(model[0].parameters(), lr=0.5)], clip=1e9)
    with step:
        for part in step.micro_batches(x.split(3), weight=len):
            step.backward(model(part).mean())
    both = [sgd(by_hand), torch.optim.SGD(by_hand[0].parameters(), lr=0.5)]
    by_hand(x).mean().backward()
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in by_hand.parameters()])
    for optimizer in both:
        optimizer.step()
    torch.testing.assert_close(weights(model), weights(by_hand), rtol=1e-12, atol=0)
    assert step.outcome.norm == pytest.approx(float(norm))


def test_a_block_leaves_no_cycles() -> None:
    """Gradients are as large as the model: they must not wait for the garbage collector."""
    model = make_model()
    step = Step(sgd(model))
    for _ in range(2):
        with step:
            step.backward(model(BATCHES[0][0]).sum())
        gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            with step:
                step.backward(model(BATCHES[0][0]).sum())
        assert gc.collect() == 0
    finally:
        gc.enable()
