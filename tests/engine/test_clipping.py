"""Every way to clip equals the one written by hand, and sees true gradients."""

import pytest
import torch

from engine.nets import make_model, weights
from zerograd import Step

X = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def _by_groups(model) -> None:
    for part in (model[0], model[2]):
        torch.nn.utils.clip_grad_norm_(part.parameters(), 0.1)


def _halve(named) -> None:
    assert sorted(named) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    for gradient in named.values():
        gradient.mul_(0.5)


WAYS = {
    "norm": ({"norm": 0.1}, lambda model: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)),
    "number": (0.1, lambda model: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)),
    "value": ({"value": 0.01}, lambda model: torch.nn.utils.clip_grad_value_(model.parameters(), 0.01)),
    "per group": ({"norm": 0.1, "per": "group"}, _by_groups),
    "function": (_halve, lambda model: [parameter.grad.mul_(0.5) for parameter in model.parameters()]),
}


@pytest.mark.parametrize(("nonfinite", "scaled"), [("skip", False), ("skip", True), ("ignore", False)])
@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_clip_written_by_hand(way: str, nonfinite: str, scaled: bool) -> None:
    clip, by_hand = WAYS[way]
    model, other = make_model(torch.float64), make_model(torch.float64)
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters()}]
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0) if scaled else None
    step = Step(torch.optim.SGD(groups, lr=1.0), model=model, clip=clip, nonfinite=nonfinite, scaler=scaler)
    with step:
        for part in step.micro_batches(X.split(4), weight=len):
            step.backward(model(part).square().mean())
    other(X).square().mean().backward()
    by_hand(other)
    torch.optim.SGD(other.parameters(), lr=1.0).step()
    torch.testing.assert_close(weights(model), weights(other), rtol=1e-12, atol=1e-15)


def test_a_parameter_in_two_groups_of_two_optimizers_is_clipped_once() -> None:
    model = make_model(torch.float64)
    both = [torch.optim.SGD(model.parameters(), lr=1.0), torch.optim.SGD(model[0].parameters(), lr=0.0)]
    step = Step(both, clip={"norm": 1e-3, "per": "group"})
    before = weights(model)
    with step:
        step.backward(model(X).square().mean())
    assert float((weights(model) - before).norm()) == pytest.approx(1e-3, rel=1e-2)


def test_entries_of_a_sparse_gradient_are_summed_before_they_are_clipped_by_value() -> None:
    table = torch.nn.Embedding(4, 2, sparse=True)
    before = table.weight.detach().clone()
    step = Step(torch.optim.SGD(table.parameters(), lr=1.0), clip={"value": 0.7})
    with step:
        step.backward(table(torch.tensor([1, 1, 1, 1])).sum())
    assert torch.allclose(before[1] - table.weight[1], torch.tensor([0.7, 0.7]))


@pytest.mark.parametrize("limit", [1e-3, 0.7, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_near_the_limit_it_is_still_the_clip_written_by_hand(dtype: torch.dtype, limit: float) -> None:
    for factor in (0.0, 0.5, *(1 + sign * 2.0**-power for sign in (-1, 1) for power in range(8, 26)), 2.0):
        by_hand = torch.nn.Parameter(torch.zeros(7, dtype=dtype))
        by_hand.grad = torch.linspace(-1, 1, 7, dtype=dtype)
        by_hand.grad *= factor * limit / by_hand.grad.norm()
        by_step, gradient = torch.nn.Parameter(torch.zeros(7, dtype=dtype)), by_hand.grad.clone()
        torch.nn.utils.clip_grad_norm_([by_hand], limit)
        with Step(torch.optim.SGD([by_step], lr=1.0), clip=limit) as step:
            step.backward((by_step * gradient).sum())
        assert torch.equal(by_step.detach(), 0.0 - by_hand.grad), factor
