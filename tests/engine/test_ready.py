"""inspect= sees true gradients by name before the clip, and what it changes is used."""

import contextlib

import pytest
import torch

from engine.nets import make_model, sgd, weights
from zerograd import Step
from zerograd.engine.outcome import Ending

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


def test_true_gradients_before_the_clip() -> None:
    model, whole = make_model(), make_model()
    seen = []
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    step = Step(
        sgd(model),
        model=model,
        clip=1e-3,
        scaler=scaler,
        inspect=lambda named: seen.append({**named}["0.weight"].clone()),
    )
    with step:
        for part in step.micro_batches(X.split(4), weight=len):
            step.backward(model(part).square().mean())
    whole(X).square().mean().backward()
    torch.testing.assert_close(seen[0], whole[0].weight.grad)


def test_what_it_changes_is_measured_again_and_used() -> None:
    model = make_model()
    before = weights(model)

    def ones(named) -> None:
        torch._foreach_zero_(list(named.values()))
        torch._foreach_add_(list(named.values()), 1.0)

    step = Step(torch.optim.SGD(model.parameters(), lr=1.0), clip=float("inf"), inspect=[ones, lambda named: None])
    with step:
        step.backward(model(X).sum())
    torch.testing.assert_close(weights(model), before - 1.0)
    assert step.outcome.norm == pytest.approx(len(before) ** 0.5)


def test_a_change_that_is_not_finite_is_skipped() -> None:
    model = make_model()
    step = Step(sgd(model), inspect=lambda named: named["0.0"].fill_(float("nan")))
    with pytest.warns(RuntimeWarning), step:
        step.backward(model(X).sum())
    assert step.outcome.kind is Ending.SKIPPED


def test_a_new_gradient_is_not_put_into_the_mapping() -> None:
    model = make_model()
    step = Step(sgd(model), inspect=lambda named: named.__setitem__("0.0", torch.ones(())))
    with pytest.raises(AttributeError), step:
        step.backward(model(X).sum())
    assert step.outcome.kind is Ending.ROLLED_BACK


def _spoil(gradient: torch.Tensor) -> None:
    gradient.data.fill_(float("nan"))  # moves no version counter


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    "spoiling",
    [
        {"inspect": lambda named: _spoil(named["0.0"])},
        {"inspect": [lambda named: None, lambda named: _spoil(named["0.0"])], "clip": 1.0},
        {"clip": lambda named: _spoil(named["0.0"])},
        {"clip": lambda named: named["0.0"].mul_(0.0).div_(0.0)},
        {"clip": lambda named: named["0.0"].fill_(float("inf")), "grads": "flat"},
    ],
)
@pytest.mark.filterwarnings("ignore:zerograd skipped")
def test_whatever_made_them_not_finite_the_weights_stay(spoiling: dict, scaled: bool) -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model), scaler=torch.amp.GradScaler("cpu", enabled=scaled), **spoiling)
    with step:
        step.backward(model(X).sum())
    assert step.outcome.kind is Ending.SKIPPED
    assert torch.equal(weights(model), before)


def test_a_gradient_that_inspect_puts_in_anothers_place_is_used_and_looked_at() -> None:
    for value, ending in ((2.0, Ending.COMMITTED), (float("nan"), Ending.SKIPPED)):
        weight = torch.nn.Parameter(torch.zeros(3))

        def replace(_: object, weight: torch.nn.Parameter = weight, value: float = value) -> None:
            weight.grad = torch.full((3,), value)

        step = Step(torch.optim.SGD([weight], lr=1.0), inspect=replace, clip=float("inf"), max_skips=2)
        with pytest.warns(RuntimeWarning) if ending is Ending.SKIPPED else contextlib.nullcontext(), step:
            step.backward(weight.sum())
        assert step.outcome.kind is ending
    assert float(weight.detach().sum()) == 0.0


def test_a_loss_scale_that_has_grown_does_not_stop_the_weights() -> None:
    """The norm of the scaled gradients overflows long before they do: the coefficient was 0, and nothing moved."""
    model = make_model()
    step = Step(sgd(model), scaler=torch.amp.GradScaler("cpu", init_scale=2.0**100), clip=0.1)
    before = weights(model)
    with step:
        step.backward(model(X).square().mean())
    assert step.outcome.moved
    assert float((weights(model) - before).norm()) == pytest.approx(0.1 * 0.1, rel=1e-3)


def test_weights_alone_do_not_make_the_norm_overflow() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    step = Step(torch.optim.SGD([weight], lr=1.0), clip=1e15)
    with step:
        step.backward(weight.sum() * 1e30, weight=1.4)
    assert step.outcome.norm == pytest.approx(1e30)
    assert float(weight.detach()) == pytest.approx(-1e15)


@pytest.mark.filterwarnings("ignore:zerograd skipped")
def test_half_precision_that_the_denominator_makes_infinite_is_skipped() -> None:
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float16))
    step = Step(torch.optim.SGD([weight], lr=1.0))
    with step:
        step.backward((weight.float() * 80000.0).sum(), weight=1.5)  # 60,000, to be divided by 0.75
    assert step.outcome.kind is Ending.SKIPPED
    assert torch.isfinite(weight).all()
