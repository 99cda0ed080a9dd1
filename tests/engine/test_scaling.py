"""A GradScaler in a Step: equal to the loop written by hand, skips and growth included."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from engine.nets import make_model, weights
from zerograd import Diverged, Step, StepError
from zerograd.engine.outcome import Ending

BATCHES = [torch.randn(8, 4, generator=torch.Generator().manual_seed(seed)) for seed in range(12)]
OVERFLOWS = {2, 3, 8}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw-fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
    "sgd-fused": lambda p: torch.optim.SGD(p, lr=0.1, fused=True),
}


def _scaler() -> torch.amp.GradScaler:
    return torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)


def _loss(model: nn.Module, number: int) -> torch.Tensor:
    loss = model(BATCHES[number]).square().mean()
    return loss * 1e38 if number in OVERFLOWS else loss


@pytest.mark.parametrize("clip", [None, 0.05])
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_it_is_the_loop_written_by_hand(make, clip: float | None) -> None:
    by_hand, by_step = make_model(), make_model()
    optimizer, scaler = make(by_hand.parameters()), _scaler()
    mine = make(by_step.parameters())
    schedule = torch.optim.lr_scheduler.ExponentialLR(mine, 0.9)
    step = Step(mine, clip=clip, scaler=_scaler(), scheduler=schedule)
    hand_schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for number in range(len(BATCHES)):
        optimizer.zero_grad()
        scaler.scale(_loss(by_hand, number)).backward()
        if clip is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(by_hand.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        if number not in OVERFLOWS:
            hand_schedule.step()
        with step:
            step.backward(_loss(by_step, number))
        assert torch.equal(weights(by_hand), weights(by_step)), number
        assert scaler.get_scale() == step._terms.scaling.scaler.get_scale()
        assert optimizer.param_groups[0]["lr"] == mine.param_groups[0]["lr"]
    assert (step.committed, step.skipped) == (9, 3)


@pytest.mark.parametrize("fused", [False, True])
def test_weighed_micro_batches_of_two_optimizers_tell_the_scaler_once(fused: bool) -> None:
    whole, parts = make_model(torch.float64), make_model(torch.float64)
    x = torch.randn(7, 4, dtype=torch.float64)
    optimizers = [torch.optim.SGD(parts[place].parameters(), lr=0.1, fused=fused) for place in (0, 2)]
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    step = Step(optimizers, scaler=scaler)
    by_hand = torch.optim.SGD(whole.parameters(), lr=0.1)
    for _ in range(3):
        with step:
            for part in step.micro_batches(x.split(3), weight=len):
                step.backward(parts(part).square().mean())
        by_hand.zero_grad()
        whole(x).square().mean().backward()
        by_hand.step()
    torch.testing.assert_close(weights(parts), weights(whole), rtol=1e-12, atol=0)
    assert scaler.get_scale() == 8.0  # three commits, one growth


def test_the_norm_is_that_of_the_true_gradient() -> None:
    weight = nn.Parameter(torch.zeros(2))
    step = Step(torch.optim.SGD([weight], lr=1.0), scaler=torch.amp.GradScaler("cpu"), clip=math.inf)
    with step:
        step.backward((weight * torch.tensor([3.0, 4.0])).sum())
    assert step.outcome.norm == 5.0


def test_a_scaler_that_is_off_is_none() -> None:
    model = make_model()
    step = Step(torch.optim.SGD(model.parameters()), scaler=torch.amp.GradScaler("cpu", enabled=False))
    with step:
        step.backward(model(BATCHES[0]).sum())
    assert step.outcome.kind is Ending.COMMITTED


def test_skips_are_an_error_only_when_no_scale_is_left_to_lower() -> None:
    model = make_model()
    step = Step(torch.optim.SGD(model.parameters()), scaler=torch.amp.GradScaler("cpu", init_scale=2.0**6), max_skips=2)
    with pytest.raises(Diverged, match="6 steps in a row"):
        for _ in range(20):
            with step:
                step.backward(model(BATCHES[0]).sum() * float("inf"))
    assert step.skipped == 6


def test_what_is_done_to_the_scaler_by_hand_is_refused_and_forgotten() -> None:
    model, clean = make_model(), make_model()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=16.0)
    step = Step(optimizer, scaler=scaler)
    with pytest.raises(StepError, match="unscale_"), step:
        step.backward(model(BATCHES[0]).sum())
        scaler.unscale_(optimizer)
    with pytest.raises(StepError, match="scaled by hand"), step:
        step.backward(scaler.scale(model(BATCHES[0]).sum()))
    with step:
        step.backward(model(BATCHES[0]).sum())
    other = Step(torch.optim.SGD(clean.parameters(), lr=0.1))
    with other:
        other.backward(clean(BATCHES[0]).sum())
    assert torch.equal(weights(model), weights(clean))
    assert scaler.get_scale() == 16.0


def test_autocast_is_for_the_forward_pass() -> None:
    by_hand, by_step = make_model(), make_model()
    optimizer = torch.optim.SGD(by_hand.parameters(), lr=0.1)
    step = Step(torch.optim.SGD(by_step.parameters(), lr=0.1), autocast=torch.bfloat16)
    for x in BATCHES:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = by_hand(x)
            loss = out.float().square().mean()
        loss.backward()
        optimizer.step()
        with step:
            mine = by_step(x)
            step.backward(mine.float().square().mean())
            assert torch.is_autocast_enabled("cpu")
        assert (mine.dtype, out.dtype) == (torch.bfloat16, torch.bfloat16)
        assert not torch.is_autocast_enabled("cpu")
    assert torch.equal(weights(by_hand), weights(by_step))


class Casts(TorchDispatchMode):
    """Counts the weights that autocast makes a copy of."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten._to_copy.default and isinstance(args[0], nn.Parameter)
        return func(*args, **kwargs or {})


@pytest.mark.parametrize(("group", "kept"), [(BATCHES[:3], [True, True, False]), (None, [False])])
def test_copies_of_weights_are_kept_for_the_next_micro_batch_and_not_into_the_last_backward(
    group: list[torch.Tensor] | None, kept: list[bool]
) -> None:
    model = make_model()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), autocast=torch.bfloat16)
    seen = []
    with step, Casts() as casts:

        def look(_: torch.Tensor) -> None:
            before = casts.count
            with torch.autocast("cpu", dtype=torch.bfloat16), torch.enable_grad():
                model(BATCHES[0])
            seen.append(casts.count == before)

        for x in BATCHES[:1] if group is None else step.micro_batches(group):
            loss = model(x).float().square().mean()
            loss.register_hook(look)
            step.backward(loss)
    assert seen == kept


def _scaled_inside(model: nn.Module, scaler: torch.amp.GradScaler, x: torch.Tensor) -> torch.Tensor:
    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": scaler.scale(model(x).square().mean())}

    return Scaled()(x)["loss"] * 0.5


BY_HAND = {
    "a sum": lambda model, scaler, x: scaler.scale(model(x).mean()) + scaler.scale(model(x).abs().mean()),
    "one term of it": lambda model, scaler, x: model(x).abs().mean() + 0.1 * scaler.scale(model(x).mean()),
    "a share": lambda model, scaler, x: scaler.scale(model(x).mean()) / 4,
    "a mean of several": lambda model, scaler, x: torch.stack([scaler.scale(model(x).mean())] * 3).mean(),
    "a list": lambda model, scaler, x: sum(scaler.scale([model(x).mean(), model(x).abs().mean()])),
    "inside a model": _scaled_inside,
    "weighed by what is learned": lambda model, scaler, x: scaler.scale(model(x).mean()) * model[0].bias.exp().sum(),
}


@pytest.mark.parametrize("loss", BY_HAND.values(), ids=BY_HAND)
def test_a_loss_that_contains_the_scale_is_refused(loss) -> None:
    model = make_model()
    before = weights(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), scaler=scaler)
    with pytest.raises(StepError, match="scaled by hand"), step:
        step.backward(loss(model, scaler, BATCHES[0]))
    assert torch.equal(weights(model), before)


def test_what_uses_the_scale_otherwise_is_not_refused() -> None:
    """The gradient penalty of torch's recipe for mixed precision; and somebody else's loss under the same scaler."""
    model, other = make_model(torch.float64), make_model(torch.float64)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), scaler=scaler)
    plain = Step(torch.optim.SGD(other.parameters(), lr=0.1))
    x = BATCHES[0].double()
    stranger = scaler.scale(make_model()(BATCHES[0]).mean())
    with step:
        loss = model(x).square().mean()
        grads = torch.autograd.grad(scaler.scale(loss), list(model.parameters()), create_graph=True)
        norm = sum((grad / scaler.get_scale()).square().sum() for grad in grads).sqrt()
        step.backward(loss + norm)
    with plain:
        loss = other(x).square().mean()
        grads = torch.autograd.grad(loss, list(other.parameters()), create_graph=True)
        plain.backward(loss + sum(grad.square().sum() for grad in grads).sqrt())
    torch.testing.assert_close(weights(model), weights(other), rtol=1e-12, atol=0)
    assert stranger.requires_grad


@pytest.mark.parametrize("bad", [set(), {(2, 0)}, {(2, 1)}, {(1, 0), (1, 1)}])
def test_steps_that_take_turns_with_one_scaler_update_it_once_per_round(bad: set[tuple[int, int]]) -> None:
    models = [make_model(), make_model()]
    scaler, by_hand = (torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2) for _ in range(2))
    steps = [Step(torch.optim.SGD(model.parameters(), lr=0.1), scaler=scaler) for model in models]
    twins = [make_model(), make_model()]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in twins]
    for turn in range(6):
        for place in range(2):
            factor = float("inf") if (turn, place) in bad else 1.0
            with steps[place]:
                steps[place].backward(models[place](BATCHES[turn]).square().mean() * factor)
            optimizers[place].zero_grad()
            by_hand.scale(twins[place](BATCHES[turn]).square().mean() * factor).backward()
            by_hand.step(optimizers[place])
        by_hand.update()
        assert scaler.get_scale() == by_hand.get_scale()
        assert torch.equal(scaler._growth_tracker, by_hand._growth_tracker)
    assert all(torch.equal(weights(one), weights(other)) for one, other in zip(models, twins, strict=True))


def test_a_step_that_comes_more_often_updates_the_scale_more_often() -> None:
    models = [make_model(), make_model()]
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    critic, actor = (Step(torch.optim.SGD(model.parameters(), lr=0.1), scaler=scaler) for model in models)
    scales = []
    for step in (critic, critic, actor, critic):
        with step:
            step.backward(models[step is actor](BATCHES[0]).square().mean())
        scales.append(scaler.get_scale())
    assert scales == [4.0, 8.0, 8.0, 8.0]
    scaler.update(2.0)
    with actor:
        actor.backward(models[1](BATCHES[0]).square().mean())
    assert scaler.get_scale() == 4.0  # set by hand to 2, not taken back, and grown once


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_default_dtype_is_nobodys_business(make) -> None:
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        model, other, scaler = make_model(torch.float64), make_model(torch.float64), _scaler()
        steps = Step(make(model.parameters()), scaler=scaler, clip=1.0), Step(make(other.parameters()), scaler=scaler)
        for number in range(4):
            for step, net in zip(steps, (model, other), strict=True):
                with step:
                    step.backward(net(BATCHES[number].double()).square().mean())
    finally:
        torch.set_default_dtype(usual)
    assert [step.committed for step in steps] == [4, 4]
    assert scaler.get_scale() == 2.0**11


def test_an_update_by_hand_inside_the_block_is_refused_in_words() -> None:
    model, scaler = make_model(), _scaler()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), scaler=scaler)
    before = weights(model)
    with pytest.raises(StepError, match=r"scaler\.update\(\) was called by hand inside the block"), step:
        step.backward(_loss(model, 0))
        scaler.update()
    assert torch.equal(before, weights(model))
    with step:
        step.backward(_loss(model, 0))
    assert step.outcome.moved


def test_what_was_unscaled_before_the_block_is_given_up_with_its_gradients() -> None:
    model, plain, scaler = make_model(), make_model(), _scaler()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = Step(optimizer, scaler=scaler)
    scaler.scale(_loss(model, 1)).backward()
    scaler.unscale_(optimizer)  # and then the iteration was given up
    for net, one in ((model, step), (plain, Step(torch.optim.SGD(plain.parameters(), lr=0.1), scaler=_scaler()))):
        with one:
            one.backward(_loss(net, 0))
    assert step.outcome.moved
    assert torch.equal(weights(model), weights(plain))
