"""What can only be seen on a GPU:

    PYTHONPATH=src python3 benchmarks/engine/gpu_check.py --out DIR

fp16 with a GradScaler against the loop written by hand (skips, back-off, growth, weights), fused optimizers that take
the divisor themselves, memory that really runs out in split(), and how often a step waits for the device. Needs torch
and one CUDA device; takes less than three minutes. Writes DIR/gpu_check.json, and exits 1 if something is not so.
"""

import argparse
import json
import time
import traceback
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

from zerograd import Step

CUDA = torch.device("cuda")
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    # No momentum: torch 2.13 _fused_sgd leaves the buffer uninitialised if the very first step overflows.
    "sgd fused": lambda p: torch.optim.SGD(p, lr=1e-3, fused=True),
    "adam foreach": lambda p: torch.optim.Adam(p, lr=1e-3, foreach=True),
    "adamw fused": lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
    "adam capturable": lambda p: torch.optim.Adam(p, lr=1e-3, capturable=True),
}


def _net(width: int = 256) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)).to(
        CUDA
    )


def _batches(count: int = 40, rows: int = 64) -> list[Tensor]:
    generator = torch.Generator(CUDA).manual_seed(1)
    return [torch.randn(rows, 64, device=CUDA, generator=generator) for _ in range(count)]


def _loss(net: nn.Module, x: Tensor) -> Tensor:
    return nn.functional.mse_loss(net(x).float().squeeze(1), x.sum(1))


def _scaler() -> torch.amp.GradScaler:
    return torch.amp.GradScaler("cuda", init_scale=2.0**26, growth_interval=8)


def _weights(net: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in net.parameters()])


def fp16(make: Callable[..., torch.optim.Optimizer], clip: float | None) -> dict[str, object]:
    """The weights, the scale and the skips of the loop written by hand, step by step."""
    by_hand, by_step = _net(), _net()
    optimizer, scaler, mine = make(by_hand.parameters()), _scaler(), _scaler()
    step = Step(make(by_step.parameters()), clip=clip, autocast=torch.float16, scaler=mine)
    scales, equal = [], True
    for x in _batches():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = _loss(by_hand, x)
        scaler.scale(loss).backward()
        if clip is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(by_hand.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        with step:
            step.backward(_loss(by_step, x))
        scales.append((scaler.get_scale(), mine.get_scale()))
        equal &= torch.equal(_weights(by_hand), _weights(by_step))
    backed_off = any(later < earlier for (_, earlier), (_, later) in pairwise(scales))
    grew = any(later > earlier for (_, earlier), (_, later) in pairwise(scales))
    return {
        "ok": equal and all(a == b for a, b in scales) and step.skipped > 0 and backed_off and grew,
        "bitwise": equal,
        "skipped": step.skipped,
        "committed": step.committed,
        "last scale": scales[-1][1],
    }


def weighed(make: Callable[..., torch.optim.Optimizer]) -> dict[str, object]:
    """Unequal micro-batches with a scaler equal the whole batch, to float32's rounding."""
    whole, parts = _net(), _net()
    optimizer = make(whole.parameters())
    step = Step(make(parts.parameters()), scaler=torch.amp.GradScaler("cuda", init_scale=2.0**10))
    for x in _batches(10):
        optimizer.zero_grad()
        _loss(whole, x).backward()
        optimizer.step()
        with step:
            for part in step.micro_batches(x.split([3, 30, 1, 30]), weight=len):
                step.backward(_loss(parts, part))
    difference = float((_weights(whole) - _weights(parts)).abs().max() / _weights(whole).abs().max())
    return {"ok": difference < 1e-4 and step.committed == 10, "relative difference": difference}


def out_of_memory() -> dict[str, object]:
    """A batch that is too large for what the device may give is halved, and the gradient is the same."""
    net, x = _net(1024), torch.randn(4096, 64, device=CUDA)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    seen: list[list[Tensor]] = []
    step = Step(optimizer, model=net, inspect=lambda named: seen.append([one.clone() for one in named.values()]))

    def loss(rows: Tensor) -> Tensor:
        hidden = net[:2](rows)
        for _ in range(24):  # each keeps rows x 1024 x 4 bytes, twice
            hidden = net[2](hidden).tanh() + hidden
        return net[4](hidden).square().mean()

    with step:
        step.backward(loss(x))
    torch.cuda.empty_cache()
    _, total = torch.cuda.mem_get_info()
    room = torch.cuda.memory_reserved() + 4096 * 1024 * 4 * 48 * 0.4
    torch.cuda.set_per_process_memory_fraction(room / total)
    try:
        with step:
            step.split(x, loss)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    parts = step.outcome.micro_batches if step.outcome is not None else 0
    worst = max(float((a - b).norm() / (b.norm() + 1e-12)) for a, b in zip(*seen, strict=True))
    return {"ok": parts > 1 and worst < 1e-4, "parts": parts, "relative difference": worst}


def syncs(make: Callable[..., torch.optim.Optimizer], **options: object) -> dict[str, object]:
    """How often a step waits for the device; torch's own count, for the loop by hand and for the Step."""
    x = _batches(1)[0]
    clip, scaled = options.get("clip"), bool(options.pop("scaled", False))
    by_hand, by_step = _net(), _net()
    optimizer, scaler = make(by_hand.parameters()), torch.amp.GradScaler("cuda", init_scale=2.0, enabled=scaled)
    step = Step(
        make(by_step.parameters()), scaler=torch.amp.GradScaler("cuda", init_scale=2.0, enabled=scaled), **options
    )

    def hand() -> None:
        optimizer.zero_grad()
        scaler.scale(_loss(by_hand, x)).backward()
        if clip is not None:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(by_hand.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()

    def mine() -> None:
        with step:
            step.backward(_loss(by_step, x))

    found = {"by hand": _waits(hand), "Step": _waits(mine)}
    allowed = 0 if options.get("nonfinite") == "ignore" else 1
    return {"ok": found["Step"] <= allowed, **found}


def _waits(function: Callable[[], None]) -> int:
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in caught)


def speed() -> dict[str, object]:
    """A step of a larger net, in turns with the loop by hand: medians of the ratio."""
    ratios = {}
    x = _batches(1, 1024)[0]
    for clip in (None, 1.0):
        by_hand, by_step = _net(2048), _net(2048)
        optimizer = torch.optim.AdamW(by_hand.parameters(), fused=True)
        step = Step(torch.optim.AdamW(by_step.parameters(), fused=True), clip=clip)

        def hand(
            net: nn.Module = by_hand, optimizer: torch.optim.Optimizer = optimizer, clip: float | None = clip
        ) -> None:
            optimizer.zero_grad()
            _loss(net, x).backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
            optimizer.step()

        def mine(net: nn.Module = by_step, step: Step = step) -> None:
            with step:
                step.backward(_loss(net, x))

        pairs = [(_seconds(mine), _seconds(hand)) for _ in range(15)]
        ratios[f"clip={clip}"] = round(sorted(a / b for a, b in pairs)[len(pairs) // 2], 3)
    return {"ok": True, **ratios}


def _seconds(function: Callable[[], None]) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(20):
        function()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("."))
    out: Path = parser.parse_args().out
    torch.backends.cuda.matmul.allow_tf32 = False
    checks: dict[str, Callable[[], dict[str, object]]] = {"speed": speed}
    for name, make in OPTIMIZERS.items():
        for clip in (None, 0.5):
            checks[f"fp16, {name}, clip={clip}"] = lambda make=make, clip=clip: fp16(make, clip)
        checks[f"weighed, {name}"] = lambda make=make: weighed(make)
    adamw = OPTIMIZERS["adamw fused"]
    checks["syncs, ignore"] = lambda: syncs(adamw, nonfinite="ignore")
    checks["syncs, default"] = lambda: syncs(adamw)
    checks["syncs, clip"] = lambda: syncs(adamw, clip=1.0)
    checks["syncs, clip and scaler"] = lambda: syncs(adamw, clip=1.0, scaled=True)
    checks["syncs, foreach, clip and scaler"] = lambda: syncs(OPTIMIZERS["adam foreach"], clip=1.0, scaled=True)
    checks["out of memory"] = out_of_memory
    results: dict[str, dict[str, object]] = {}
    for name, check in checks.items():
        try:
            results[name] = check()
        except Exception:  # the others shall be told all the same
            results[name] = {"ok": False, "error": traceback.format_exc()}
        print(f"{'ok  ' if results[name]['ok'] else 'FAIL'} {name}: {results[name]}", flush=True)
    told = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "results": results}
    out.mkdir(parents=True, exist_ok=True)
    (out / "gpu_check.json").write_text(json.dumps(told, indent=2))
    return 0 if all(result["ok"] for result in results.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
