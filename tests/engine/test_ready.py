"""inspect= sees true gradients by name before the clip, and what it changes is used."""

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
