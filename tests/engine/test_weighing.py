"""The unit of a block is its own: what hooks see, and what a loss scale has to fit, comes from no step before."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from engine.nets import make_model
from zerograd import Step, StepError
from zerograd.engine.outcome import Ending
from zerograd.engine.weighing import MicroBatch, Tally, Weighing, power_of_two

WEIGHTS = st.floats(1e-6, 1e9)


@given(WEIGHTS)
def test_a_unit_is_near_its_weight(weight: float) -> None:
    unit = power_of_two(weight)
    assert math.frexp(unit)[0] == 0.5
    assert 0.7 < weight / unit < 1.42


@given(WEIGHTS)
def test_the_device_finds_the_same_unit(weight: float) -> None:
    found = power_of_two(torch.tensor(weight, dtype=torch.float64))
    assert isinstance(found, Tensor)
    assert 0.7 < weight / float(found) < 1.42
    assert math.frexp(float(found))[0] == 0.5


@given(st.lists(WEIGHTS, min_size=1), st.booleans())
def test_the_slots_keep_up_with_the_unit(weights: list[float], on_device: bool) -> None:
    """Whatever the order: in the end the heaviest counts about 1, and the quotient is the weighted mean."""
    tally, slot = Tally(), 0.0
    for number, weight in enumerate(weights):
        micro = MicroBatch(Weighing.MEAN, torch.tensor(weight, dtype=torch.float64) if on_device else weight)
        slot = slot * float(tally.fit(micro)) + number * float(tally.coefficient(micro))
        tally.count(micro)
    assert 0.7 < max(weights) / float(tally.unit) < 1.42
    mean = sum(number * weight for number, weight in enumerate(weights)) / sum(weights)
    assert slot / float(tally.denominator) == pytest.approx(mean, rel=1e-12)


def test_what_weighs_nothing_on_the_device_asks_for_no_unit() -> None:
    tally = Tally()
    for weight in (0.0, 0.001):
        micro = MicroBatch(Weighing.MEAN, torch.tensor(weight, dtype=torch.float64))
        tally.fit(micro)
        assert not torch.isnan(torch.as_tensor(tally.coefficient(micro)))
        tally.count(micro)
    assert 0.7 < 0.001 / float(tally.unit) < 1.42


def _gradients(step: Step, model: nn.Module, weights: list[float], seen: list[Tensor]) -> Tensor:
    with step:
        for place, _ in enumerate(step.micro_batches(weights, weight=float)):
            step.backward(model(torch.full((3, 4), 0.1 * (place + 1))).square().mean())
    return seen[-1]


@pytest.mark.parametrize("grads", ["none", "flat"])
@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0, 1.0], [3.0, 700.0, 5.0], [700.0, 3.0], [0.25, 1000.0]])
def test_a_block_is_the_same_whatever_came_before(weights: list[float], grads: str) -> None:
    """Also under a hook that clamps, as recurrent networks have it, and when a heavier one comes in the middle."""
    model, seen = make_model(), []
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient.clamp(-0.01, 0.01))
    step = Step(
        torch.optim.SGD(model.parameters(), lr=0.0),
        grads=grads,
        inspect=lambda named: seen.append(torch.cat([gradient.flatten() for gradient in named.values()]).clone()),
    )
    first = _gradients(step, model, weights, seen)
    for before in ([1.0], [2.0**17], [1e-4, 1e-4]):
        _gradients(step, model, before, seen)
        assert torch.equal(_gradients(step, model, weights, seen), first)


def test_what_a_parameters_hook_sees() -> None:
    weight = nn.Parameter(torch.ones(()))
    seen: list[float] = []
    weight.register_hook(lambda gradient: seen.append(float(gradient)))
    step = Step(torch.optim.SGD([weight], lr=0.1))
    with step:
        for _ in step.micro_batches(range(4)):
            step.backward(weight * 1.0)
    assert seen == [1.0] * 4  # the loss as it is
    seen.clear()
    with step:
        for _ in step.micro_batches([3, 100, 50], weight=float):
            step.backward(weight * 1.0)
    assert seen == [3 / 4, 100 / 128, 50 / 128]


def test_the_mean_is_exact_when_a_heavier_one_comes() -> None:
    model = make_model().double()
    want = make_model().double()
    batches = [torch.randn(rows, 4, generator=torch.Generator().manual_seed(rows)).double() for rows in (1, 5, 90, 2)]
    want(torch.cat(batches)).square().mean().backward()
    got: list[Tensor] = []
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), inspect=lambda named: got.extend(named.values()))
    with step:
        for batch in step.micro_batches(batches, weight=len):
            step.backward(model(batch).square().mean())
    for one, parameter in zip(got, want.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad, rtol=1e-13, atol=1e-15)


def test_a_light_step_after_a_heavy_one_keeps_its_bits() -> None:
    """Under fp16 and a loss scale: a unit of 2**17 would have cost the light one 17 bits."""
    model, seen = make_model(), []
    step = Step(
        torch.optim.SGD(model.parameters(), lr=0.0),
        scaler=torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=10**6),
        autocast=torch.float16,
        inspect=lambda named: seen.append(torch.cat([gradient.flatten() for gradient in named.values()]).clone()),
    )
    for weight in (1, 2**17, 1):
        with step:
            step.backward(model(torch.ones(3, 4)).square().mean() * 1e-4, weight=weight)
    assert torch.equal(seen[0], seen[2])


@pytest.mark.parametrize("data", [range(8), iter(range(8))])
def test_fp16_slots_do_not_overflow_by_the_sum(data: object) -> None:
    """8 x 30,000 is infinite in fp16, its mean is not."""
    weight = nn.Parameter(torch.zeros(4, dtype=torch.float16))
    step = Step(torch.optim.SGD([weight], lr=1e-5), clip=1e9)
    with step:
        for _ in step.micro_batches(data):  # type: ignore[call-overload]
            step.backward((weight * 30000.0).sum())
    assert step.outcome.kind is Ending.COMMITTED
    assert step.outcome.norm == pytest.approx(60000.0, rel=1e-3)


def test_a_checkpoint_that_knew_a_unit_of_the_step_before_still_loads() -> None:
    step = Step(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1))
    assert "ref" not in step.state_dict()
    step.load_state_dict({**step.state_dict(), "ref": 1024.0})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_weights_that_only_the_device_knows(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a captured step: the unit is found, and the slots follow it, without a look at any number."""
    model, plain = make_model(dtype), make_model(dtype)
    batches = [torch.full((rows, 4), 0.1 * (rows + 1), dtype=dtype) for rows in (3, 0, 40, 7)]
    for one, on_device in ((plain, False), (model, True)):
        step = Step(torch.optim.SGD(one.parameters(), lr=0.1))
        with step, monkeypatch.context() as patch:
            assert step._block is not None
            step._block.captured = on_device
            if on_device:
                for name in ("__bool__", "__float__", "item"):
                    patch.setattr(Tensor, name, lambda *_: pytest.fail("the host has asked"))
            weigh = (lambda batch: torch.tensor(len(batch))) if on_device else len
            for batch in step.micro_batches(batches, weight=weigh):
                step.backward(one(batch).square().sum() / max(len(batch), 1))
            step._block.captured = False
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("most", [1.7e308, torch.tensor(1.7e308, dtype=torch.float64)])
def test_weights_whose_sum_no_number_can_hold(most: object) -> None:
    model = make_model(torch.float64)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    with step:
        for part in step.micro_batches([torch.ones(2, 4, dtype=torch.float64)], weight=lambda _: most):
            step.backward(model(part).mean())
    assert step.outcome.moved
    with pytest.raises(StepError, match="add up to more than a number can hold"), step:
        for part in step.micro_batches([torch.ones(2, 4, dtype=torch.float64)] * 2, weight=lambda _: most):
            step.backward(model(part).mean())
