"""The law that matters most: training ends with the same weights, to the last bit, with the audit on; and with a Step
in place of the loop written by hand."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import zerograd
from run.ranks import on_two_ranks

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "SGD foreach": lambda p: optim.SGD(p, lr=0.05, foreach=True),
    "SGD fused": lambda p: optim.SGD(p, lr=0.05, fused=True),
    "Adam": lambda p: optim.Adam(p, lr=0.01, foreach=False),
    "Adam foreach": lambda p: optim.Adam(p, lr=0.01, foreach=True, amsgrad=True),
    "Adam fused": lambda p: optim.Adam(p, lr=0.01, fused=True),
    "AdamW fused": lambda p: optim.AdamW(p, lr=0.01, fused=True),
    "AdamW foreach": lambda p: optim.AdamW(p, lr=0.01, foreach=True),
    "NAdam": lambda p: optim.NAdam(p, lr=0.01),
    "RAdam foreach": lambda p: optim.RAdam(p, lr=0.01, foreach=True),
    "Adamax": lambda p: optim.Adamax(p, lr=0.01),
    "Adagrad fused": lambda p: optim.Adagrad(p, lr=0.01, fused=True),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.9),
    "Adadelta": lambda p: optim.Adadelta(p, lr=0.1),
    "Rprop": lambda p: optim.Rprop(p, lr=0.01),
    "ASGD": lambda p: optim.ASGD(p, lr=0.01),
    "Adafactor": lambda p: optim.Adafactor(p, lr=0.01),
}


def _model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))


def _batches(count: int = 6) -> list[tuple[Tensor, Tensor]]:
    return [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(count)]


def _plain(make: Callable[[Any], optim.Optimizer]) -> nn.Module:
    model = _model()
    optimizer = make(model.parameters())
    for x, y in _batches():
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


def _accumulated() -> nn.Module:
    model = _model()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    for i, (x, y) in enumerate(_batches(9)):
        (F.mse_loss(model(x), y) / 3).backward()
        if i % 3 == 2:
            optimizer.step()
            for parameter in model.parameters():
                parameter.grad.data.zero_()
    return model


def _lbfgs() -> nn.Module:
    model = _model()
    optimizer = optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, line_search_fn="strong_wolfe")
    for x, y in _batches(3):

        def closure(x: Tensor = x, y: Tensor = y) -> Tensor:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)
    return model


def _sam() -> nn.Module:
    model = _model()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for x, y in _batches():
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        with torch.no_grad():
            moves = [0.05 * p.grad / (p.grad.norm() + 1e-12) for p in model.parameters()]
            torch._foreach_add_(list(model.parameters()), moves)
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        with torch.no_grad():
            torch._foreach_sub_(list(model.parameters()), moves)
        optimizer.step()
    return model


def _autocast() -> nn.Module:
    model = _model()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    for x, y in _batches():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return model


def _scaled() -> nn.Module:
    model = _model()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126, growth_interval=2)  # the first steps overflow
    for x, y in _batches(10):
        optimizer.zero_grad()
        scaler.scale(F.mse_loss(model(x), y)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return model


def _compiled() -> nn.Module:
    torch.compiler.reset()
    model = _model()
    optimizer = optim.Adam(model.parameters(), lr=0.01, capturable=False)
    fast = torch.compile(model, backend="aot_eager")
    for x, y in _batches(4):
        optimizer.zero_grad()
        F.mse_loss(fast(x), y).backward()
        optimizer.step()
    return model


def _compiled_autograd() -> nn.Module:
    torch.compiler.reset()
    model = _model()
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    for x, y in _batches(3):
        optimizer.zero_grad()
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            F.mse_loss(model(x), y).backward()
        optimizer.step()
    return model


def _checkpointed() -> nn.Module:
    model = _model()
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    for i, (x, y) in enumerate(_batches()):
        optimizer.zero_grad()
        middle = checkpoint(model[:3], x.requires_grad_(True), use_reentrant=bool(i % 2))
        F.mse_loss(model[3:](middle), y).backward()
        optimizer.step()
    return model


def _in_backward() -> nn.Module:
    model = _model()
    each = {parameter: optim.SGD([parameter], lr=0.05) for parameter in model.parameters()}

    def now(parameter: Tensor) -> None:
        each[parameter].step()  # type: ignore[index]
        each[parameter].zero_grad()  # type: ignore[index]

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(now)
    for x, y in _batches():
        F.mse_loss(model(x), y).backward()
    return model


LOOPS: dict[str, Callable[[], nn.Module]] = {
    **{name: lambda make=make: _plain(make) for name, make in OPTIMIZERS.items()},
    "accumulated, zeroed through .data": _accumulated,
    "LBFGS": _lbfgs,
    "SAM": _sam,
    "bfloat16 autocast": _autocast,
    "GradScaler": _scaled,
    "torch.compile": _compiled,
    "compiled autograd": _compiled_autograd,
    "checkpointing": _checkpointed,
    "an optimizer inside backward": _in_backward,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["lean", "full"])
@pytest.mark.parametrize("train", LOOPS.values(), ids=LOOPS)
def test_the_weights_are_bitwise_the_same(train: Callable[[], nn.Module], mode: str, tmp_path: Path) -> None:
    ends = []
    for watch in (
        contextlib.nullcontext(),
        zerograd.audit(on_finding="collect", mode=mode, trace=tmp_path / "t.jsonl"),
    ):
        with watch:
            ends.append([*train().state_dict().values()])
    assert all(torch.equal(one, other) for one, other in zip(*ends, strict=True))
    assert [finding for finding in watch.findings if finding.fails] == []


STEP_OPTIMIZERS = ["SGD", "SGD fused", "Adam", "Adam foreach", "AdamW fused", "RMSprop"]
CLIPS: dict[str, tuple[Any, Callable[[nn.Module], object]]] = {
    "not clipped": (None, lambda model: None),
    "by norm": (0.05, lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.05)),
    "by value": ({"value": 0.01}, lambda model: nn.utils.clip_grad_value_(model.parameters(), 0.01)),
}


def _groups(model: nn.Sequential) -> list[dict[str, Any]]:
    """As many loops have them: weights decay and biases do not. The optimizer's order is not the model's."""
    named = dict(model.named_parameters())
    return [
        {"params": [named[name] for name in named if name.endswith("weight")]},
        {"params": [named[name] for name in named if name.endswith("bias")], "weight_decay": 0.0},
    ]


def _scaler(scale: float | None) -> torch.amp.GradScaler:
    return torch.amp.GradScaler("cpu", init_scale=scale or 1.0, growth_interval=3, enabled=scale is not None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("grads", ["none", "flat"])
@pytest.mark.parametrize("scale", [None, 2.0**16, 1000.0, 1.1e30])
@pytest.mark.parametrize("clip", CLIPS)
def test_a_step_is_the_loop_written_by_hand(clip: str, scale: float | None, grads: Any, dtype: torch.dtype) -> None:
    given, by_hand = CLIPS[clip]
    for name in STEP_OPTIMIZERS:
        plain, stepped = _model().to(dtype), _model().to(dtype)
        optimizer, mine = OPTIMIZERS[name](_groups(plain)), OPTIMIZERS[name](_groups(stepped))
        scaler, own = _scaler(scale), _scaler(scale)
        step = zerograd.Step(mine, model=stepped, clip=given, scaler=own, grads=grads)
        for number, (x, y) in enumerate(_batches(5)):
            x, y = x.to(dtype), y.to(dtype)
            torch.manual_seed(number)
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(plain(x), y)).backward()
            if given is not None:
                scaler.unscale_(optimizer)
                by_hand(plain)
            scaler.step(optimizer)
            scaler.update()
            torch.manual_seed(number)
            with step:
                step.backward(F.mse_loss(stepped(x), y))
            pairs = zip(plain.state_dict().values(), stepped.state_dict().values(), strict=True)
            assert all(torch.equal(one, other) for one, other in pairs), (name, number)
            assert scaler.get_scale() == own.get_scale()


DISTRIBUTED = """
from torch.distributed.fsdp import fully_shard

def train(kind):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    if kind == "DDP":
        model = DDP(model)
    else:
        fully_shard(model[0]); fully_shard(model[2]); fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(rank)
    for i in range(6):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return weights(model)

for kind in ("DDP", "FSDP2"):
    for mode in ("lean", "full"):
        plain = train(kind)
        with zerograd.audit(on_finding="collect", mode=mode) as watch:
            audited = train(kind)
        same = all(torch.equal(a, b) for a, b in zip(plain, audited, strict=True))
        print(kind, mode, same, [str(f) for f in watch.findings if f.fails], watch.steps)
"""


def test_two_ranks_end_with_the_same_weights(tmp_path: Path) -> None:
    expected = "".join(f"{kind} {mode} True [] 6\n" for kind in ("DDP", "FSDP2") for mode in ("lean", "full"))
    assert on_two_ranks(DISTRIBUTED, tmp_path) == [expected] * 2
