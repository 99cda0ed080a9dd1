"""A captured step is the step: the same weights, skips, schedule, random numbers and refusals.

On a machine without a GPU the captured function runs uncaptured, and only that is tried here. On one with a GPU:
`PYTHONPATH=src python3 -m pytest tests/engine/test_capturing.py`.
"""

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

import zerograd
from zerograd import CaptureError, Step, StepError, groups

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="captures on a GPU only")
Make = Callable[..., torch.optim.Optimizer]
OPTIMIZERS: dict[str, Make] = {
    "adamw fused": lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2),
    "sgd fused": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, dampening=0.5, fused=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, dampening=0.5),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3),
    "nadam": lambda p: torch.optim.NAdam(p, lr=1e-3),
}


def net(device: str, *extra: Callable[[], nn.Module]) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), *(make() for make in extra), nn.ReLU(), nn.Linear(32, 4)).to(device)


def batches(device: str, count: int = 12, rows: int = 8) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [
        (
            torch.randn(rows, 16, generator=generator).to(device),
            torch.randint(4, (rows,), generator=generator).to(device),
        )
        for _ in range(count)
    ]


class Pair:
    """The same training twice: captured, and under `with step:`."""

    def __init__(
        self, make: Make, *extra: Callable[[], nn.Module], device: str = "cuda", compile: bool = False, **terms: object
    ):
        self.nets = [net(device, *extra), net(device, *extra)]
        self.steps = [Step(make(one.parameters()), **terms) for one in self.nets]  # type: ignore[arg-type]
        self.update = self.steps[0].capture(self.body(0), *batches(device)[0], compile=compile)

    def body(self, place: int) -> Callable[[Tensor, Tensor], Tensor]:
        model, step = self.nets[place], self.steps[place]

        def body(x: Tensor, y: Tensor) -> Tensor:
            loss = cross_entropy(model(x).float(), y)
            step.backward(loss)
            return loss

        return body

    def both(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        torch.manual_seed(7)
        one = self.update(x, y)
        torch.manual_seed(7)
        with self.steps[1] as step:
            other = self.body(1)(x, y)
        assert step is self.steps[1]
        return one, other.detach()

    def assert_same(self, tolerance: float = 2e-5) -> None:
        for one, other in zip(*(model.state_dict().values() for model in self.nets), strict=True):
            torch.testing.assert_close(one.float(), other.float(), rtol=tolerance, atol=tolerance)


def test_on_a_cpu_it_runs_uncaptured() -> None:
    pair = Pair(OPTIMIZERS["adam"], device="cpu", clip=1.0)
    for x, y in batches("cpu"):
        torch.testing.assert_close(*pair.both(x, y), rtol=0, atol=0)
    pair.assert_same(0)
    assert pair.steps[0].committed == 12
    assert not pair.update.captures


@gpu
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_it_trains_as_the_block_does(name: str, clip: float | None) -> None:
    pair = Pair(OPTIMIZERS[name], clip=clip)
    for x, y in batches("cuda"):
        torch.testing.assert_close(*pair.both(x, y), rtol=1e-4, atol=1e-4)
    pair.assert_same()
    ours, theirs = (step.outcome for step in pair.steps)
    assert ours is not None
    assert theirs is not None
    assert (ours.kind, ours.weight, ours.micro_batches) == (theirs.kind, theirs.weight, theirs.micro_batches)
    assert ours.norm == (None if theirs.norm is None else pytest.approx(theirs.norm, rel=1e-4))
    assert pair.steps[0].committed == pair.steps[1].committed == 12


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cells, self.out = nn.Embedding(50, 32), nn.LSTM(32, 32, 2, batch_first=True), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.cells(self.words(x))[0][:, -1])


@gpu
@pytest.mark.parametrize("kind", ["lstm", "convolutions"])
def test_it_is_exact(kind: str) -> None:
    """In float64 nothing is left but the rounding of the learning rate, which lies on the device in float32."""
    dtype = torch.float64 if kind == "lstm" else torch.float32  # cuDNN's convolutions in float64 cannot be captured

    def make() -> nn.Module:
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()]
        model = Recurrent() if kind == "lstm" else nn.Sequential(*layers, nn.Flatten(), nn.Linear(8 * 144, 4))
        return model.to("cuda", dtype)

    models = [make(), make()]
    steps = [Step(torch.optim.SGD(model.parameters(), lr=2.0**-4, fused=True), clip=0.5) for model in models]
    generator = torch.Generator("cuda").manual_seed(0)
    update = None
    for _ in range(50):
        x = torch.randint(50, (8, 12), device="cuda", generator=generator)
        if kind == "convolutions":
            x = torch.randn(8, 3, 16, 16, device="cuda", dtype=dtype, generator=generator)
        y = torch.randint(4, (8,), device="cuda", generator=generator)
        if update is None:
            update = steps[0].capture(lambda x, y: steps[0].backward(cross_entropy(models[0](x), y)), x, y)
        update(x, y)
        with steps[1]:
            steps[1].backward(cross_entropy(models[1](x), y))
    for one, other in zip(models[0].state_dict().values(), models[1].state_dict().values(), strict=True):
        tolerance = 1e-9 if kind == "lstm" else 1e-4
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@gpu
def test_what_it_returns_is_not_overwritten() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"])
    losses = [pair.both(x, y) for x, y in batches("cuda")]
    for ours, theirs in losses:
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@gpu
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_capturing_changes_nothing(name: str) -> None:
    model = net("cuda", lambda: nn.BatchNorm1d(32), nn.Dropout)
    optimizer = OPTIMIZERS[name](model.parameters())
    step, mean = Step(optimizer, clip=1.0), torch.zeros((), device="cuda")
    x, y = batches("cuda")[0]

    def body(x: Tensor, y: Tensor) -> None:
        loss = cross_entropy(model(x), y)
        step.backward(loss)
        mean.lerp_(loss.detach(), 0.1)

    for _ in range(2):  # before the optimizer has a state, and after
        before = [value.clone() for value in model.state_dict().values()]
        state = [v.clone() for s in optimizer.state.values() for v in s.values() if isinstance(v, Tensor)]
        average, random, host = mean.clone(), torch.cuda.get_rng_state(), torch.get_rng_state()
        update = step.capture(body, x, y)
        assert all(map(torch.equal, before, model.state_dict().values()))
        after = [v for s in optimizer.state.values() for v in s.values() if isinstance(v, Tensor)]
        assert len(after) == len(state)
        assert all(a.equal(b.to(a.device)) for a, b in zip(after, state, strict=True))
        assert torch.equal(random, torch.cuda.get_rng_state())
        assert torch.equal(host, torch.get_rng_state())
        assert torch.equal(average, mean)
        assert step.committed in (0, 3)
        assert all(parameter.grad is None for parameter in model.parameters())
        for _ in range(3):
            update(x, y)


@gpu
def test_dropout_draws_what_the_block_would_draw() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"], nn.Dropout)
    for x, y in batches("cuda"):
        torch.testing.assert_close(*pair.both(x, y), rtol=1e-4, atol=1e-4)
    pair.assert_same()
    torch.manual_seed(3)
    first, second = pair.update(x, y), pair.update(x, y)
    assert not torch.equal(first, second)


@gpu
def test_batch_norm_keeps_its_statistics() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"], lambda: nn.BatchNorm1d(32))
    for x, y in batches("cuda"):
        pair.both(x, y)
    pair.assert_same()
    assert int(pair.nets[0][1].num_batches_tracked) == 12


@gpu
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_batch_that_is_not_finite_is_skipped(name: str) -> None:
    pair = Pair(OPTIMIZERS[name], clip=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for place, (x, y) in enumerate(batches("cuda")):
            if place in (4, 7):
                x = x * float("nan")
            pair.both(x, y)
            assert pair.steps[0].skipped == pair.steps[1].skipped
    pair.assert_same()
    assert (pair.steps[0].committed, pair.steps[0].skipped) == (10, 2)


@gpu
def test_a_skip_is_told_when_the_device_has_told_it() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"])
    (x, y), *_ = batches("cuda")
    for _ in range(3):
        pair.update(x, y)
    pair.update(x * float("inf"), y)
    torch.cuda.synchronize()
    with pytest.warns(RuntimeWarning, match="skipped a step"):
        pair.update(x, y)
    with pytest.raises(StepError, match="not finite"):
        strict = Pair(OPTIMIZERS["adamw fused"], nonfinite="raise")
        strict.update(x, y)
        strict.update(x * float("inf"), y)
        strict.steps[0].outcome  # noqa: B018


@gpu
@pytest.mark.parametrize("clip", [None, 0.5])
def test_every_step_is_told_in_order(clip: float | None) -> None:
    """Also when the rows that the device writes have come round, and the host never asks."""
    pair = Pair(OPTIMIZERS["adamw fused"], clip=clip)
    x, y = batches("cuda")[0]
    bad = {3, 100, 255, 256, 257, 300, 513}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in range(600):
            pair.update(x * float("nan") if place in bad else x, y)
        assert (pair.steps[0].skipped, pair.steps[0].committed) == (len(bad), 600 - len(bad))


@gpu
def test_too_many_skips_are_an_error() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"], max_skips=3)
    (x, y), *_ = batches("cuda")
    pair.update(x, y)
    with warnings.catch_warnings(), pytest.raises(StepError, match=r"diverged|in a row"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(20):
            pair.update(x * float("inf"), y)


@gpu
@pytest.mark.parametrize("name", ["adamw fused", "adam", "sgd fused"])
def test_a_schedule_moves_with_the_weights(name: str) -> None:
    models = [net("cuda"), net("cuda")]
    optimizers = [OPTIMIZERS[name](model.parameters()) for model in models]
    schedules = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7) for optimizer in optimizers]
    steps = [Step(one, scheduler=two) for one, two in zip(optimizers, schedules, strict=True)]

    def body(place: int, x: Tensor, y: Tensor) -> None:
        steps[place].backward(cross_entropy(models[place](x), y))

    data = batches("cuda")
    update = steps[0].capture(lambda x, y: body(0, x, y), *data[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for place, (x, y) in enumerate(data):
            x = x * float("nan") if place == 5 else x
            update(x, y)
            with steps[1]:
                body(1, x, y)
            assert schedules[0].get_last_lr() == schedules[1].get_last_lr()
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)
    assert all(isinstance(group["lr"], float) for group in optimizers[0].param_groups)


@gpu
@pytest.mark.parametrize("name", ["adamw fused", "sgd"])
def test_options_that_change_are_noticed(name: str) -> None:
    pair = Pair(OPTIMIZERS[name])
    for place, (x, y) in enumerate(batches("cuda")):
        for step in pair.steps:
            for group in step.optimizers[0].param_groups:
                if place == 3:
                    group["lr"] = 0.5e-3
                if place == 6:
                    group["weight_decay"] = 0.3
        if place == 8:
            for step in pair.steps:
                step.optimizers[0].load_state_dict(step.optimizers[0].state_dict())
        if place == 10:
            for model in pair.nets:
                model[0].requires_grad_(False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            pair.both(x, y)
    pair.assert_same()


@gpu
def test_a_parameter_that_joins_later_gets_its_state_first() -> None:
    """Unfrozen, or reached by another shape: the optimizer has no state for it, and a recording must not make one."""
    pair = Pair(OPTIMIZERS["adamw fused"])
    for model in pair.nets:
        model[0].requires_grad_(False)
    for place, (x, y) in enumerate(batches("cuda")):
        if place == 5:
            for model in pair.nets:
                model[0].requires_grad_(True)
        pair.both(x, y)
    pair.assert_same()
    assert len(pair.steps[0].optimizers[0].state) == 4


@gpu
def test_weights_that_only_the_device_knows() -> None:
    models = [net("cuda"), net("cuda")]
    steps = [Step(torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True), clip=0.5) for model in models]

    def body(place: int, group: list[tuple[Tensor, Tensor]]) -> Tensor:
        total = torch.zeros((), device="cuda")
        for x, y in steps[place].micro_batches(group, weight=lambda batch: (batch[1] >= 0).sum()):
            loss = cross_entropy(models[place](x), y, ignore_index=-1)
            steps[place].backward(loss)
            total += loss.detach()
        return total

    data = batches("cuda", 22)
    for place, (_, y) in enumerate(data):
        y[: place % 7] = -1
    update = steps[0].capture(lambda group: body(0, group), data[:4])
    for group in groups(data, 4):  # the last has two
        ours = update(group)
        with steps[1]:
            theirs = body(1, group)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        assert steps[0].outcome.weight == steps[1].outcome.weight  # type: ignore[union-attr]
        assert steps[0].outcome.micro_batches == len(group)  # type: ignore[union-attr]
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)


@gpu
@pytest.mark.parametrize("grads", ["none", "flat"])
def test_many_shapes(grads: str) -> None:
    pair = Pair(OPTIMIZERS["adamw fused"], grads=grads)
    for rows in [8, *range(1, 12), 8, 3]:
        pair.both(*batches("cuda", 1, rows)[0])
    pair.assert_same()
    assert len(pair.update._recordings) <= 8


@gpu
def test_inputs_on_the_host() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"])
    for (x, y), (far_x, far_y) in zip(batches("cpu"), batches("cuda"), strict=True):
        pair.update(x, y)
        with pair.steps[1]:
            pair.body(1)(far_x, far_y)
    pair.assert_same()


@gpu
@pytest.mark.parametrize("name", ["adamw fused", "adam", "sgd"])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_loss_scale(name: str, clip: float | None) -> None:
    models, scalers = [net("cuda"), net("cuda")], [torch.amp.GradScaler("cuda", 2.0**24, growth_interval=4)] * 1
    scalers.append(torch.amp.GradScaler("cuda", 2.0**24, growth_interval=4))
    steps = [
        Step(OPTIMIZERS[name](model.parameters()), scaler=scaler, clip=clip, autocast=torch.float16)
        for model, scaler in zip(models, scalers, strict=True)
    ]

    def body(place: int, x: Tensor, y: Tensor) -> None:
        steps[place].backward(cross_entropy(models[place](x).float(), y))

    data = batches("cuda", 30)
    update = steps[0].capture(lambda x, y: body(0, x, y), *data[0])
    for x, y in data:
        update(x, y)
        with steps[1]:
            body(1, x, y)
        assert scalers[0].get_scale() == scalers[1].get_scale()
    assert steps[0].skipped == steps[1].skipped > 0
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("default")  # the compiler of torch 2.11 warns of its own ways
@gpu
def test_compiled() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"], compile=True, clip=1.0, autocast=torch.bfloat16)
    for x, y in batches("cuda"):
        pair.both(x, y)
    pair.assert_same(2e-3)
    two = Step(pair.steps[0].optimizers[0])

    def body(x: Tensor, y: Tensor) -> None:
        two.backward(cross_entropy(pair.nets[0](x), y))
        two.backward(mse_loss(pair.nets[0](x), torch.zeros_like(pair.nets[0](x))))

    update = two.capture(body, x, y, compile=True)
    update(x, y)
    assert two.committed == 1


@gpu
def test_what_cannot_be_captured_is_told_and_nothing_is_touched() -> None:
    x, y = batches("cuda")[0]
    model = net("cuda")
    before = [parameter.detach().clone() for parameter in model.parameters()]

    def body(x: Tensor, y: Tensor) -> float:
        loss = cross_entropy(model(x), y)
        step.backward(loss)
        return loss.item()

    step = Step(torch.optim.AdamW(model.parameters(), fused=True))
    with pytest.raises(CaptureError, match=r"test_capturing.py:\d+: return loss.item\(\)"):
        step.capture(body, x, y)
    assert step.optimizers[0].param_groups[0]["capturable"] is False
    for make in (torch.optim.Adagrad, torch.optim.Adafactor):
        counting = Step(make(model.parameters()))
        with pytest.raises(CaptureError, match="on the host"):
            counting.capture(lambda x, y, step=counting: step.backward(cross_entropy(model(x), y)), x, y)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = Step(optimizer, scheduler=torch.optim.lr_scheduler.StepLR(optimizer, 1))
    with pytest.raises(CaptureError, match="fused=True"):
        step.capture(lambda x, y: step.backward(cross_entropy(model(x), y)), x, y)
    step = Step(optimizer, inspect=lambda named: None)
    with pytest.raises(CaptureError, match="inspect="):
        step.capture(lambda x, y: step.backward(cross_entropy(model(x), y)), x, y)
    step = Step(optimizer)
    with pytest.raises(CaptureError, match=r"abort\(\)"):
        step.capture(lambda x, y: step.abort(), x, y)
    with pytest.raises(CaptureError, match="requires a gradient"):
        step.capture(lambda x, y: step.backward(cross_entropy(model(x), y)), x.requires_grad_(), y)
    assert all(map(torch.equal, before, model.parameters()))
    assert all(not optimizer.state for optimizer in step.optimizers)


@gpu
def test_a_trace_tells_of_every_replay() -> None:
    told: list[list[str]] = [[], []]
    models = [net("cuda"), net("cuda")]
    steps = [
        Step(
            torch.optim.AdamW(model.parameters(), fused=True), clip=1.0, trace=lambda e, t=tell: t.append(e.kind.value)
        )
        for model, tell in zip(models, told, strict=True)
    ]
    data = batches("cuda")
    update = steps[0].capture(lambda x, y: steps[0].backward(cross_entropy(models[0](x), y)), *data[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for place, (x, y) in enumerate(data):
            x = x * float("nan") if place == 5 else x
            update(x, y)
            with steps[1]:
                steps[1].backward(cross_entropy(models[1](x), y))
    assert told[0] == told[1]


@gpu
@pytest.mark.parametrize("clip", [None, 1.0])
def test_nobody_waits_for_the_device(clip: float | None) -> None:
    pair = Pair(OPTIMIZERS["adamw fused"], clip=clip)
    x, y = batches("cuda")[0]
    for _ in range(4):
        pair.both(x, y)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(4):
            pair.update(x, y)
            with pair.steps[1]:
                pair.body(1)(x, y)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert pair.steps[1].committed == 8


@gpu
def test_a_block_that_defers_is_told_of_its_skip() -> None:
    model = net("cuda")
    step = Step(torch.optim.AdamW(model.parameters(), fused=True), clip=1.0)
    (x, y), *_ = batches("cuda")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for place in range(6):
            before = [parameter.detach().clone() for parameter in model.parameters()]
            with step:
                step.backward(cross_entropy(model(x * float("nan") if place == 3 else x), y))
            if place == 3:
                assert all(map(torch.equal, before, model.parameters()))
                assert step.outcome is not None
                assert step.outcome.kind.value == "skipped"
    assert (step.committed, step.skipped) == (5, 1)
    assert any("skipped a step" in str(warning.message) for warning in caught)


@gpu
def test_the_audit_sees_each_call_as_one_step() -> None:
    pair = Pair(OPTIMIZERS["adamw fused"], clip=1.0)
    with zerograd.audit() as audit:
        for x, y in batches("cuda"):
            pair.update(x, y)
    assert not audit.findings
    assert "12 steps" in audit.summary()
