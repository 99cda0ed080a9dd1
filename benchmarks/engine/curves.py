"""How the cost of a step grows: with the number of tensors, of micro-batches, of parameters.

    PYTHONPATH=src python3 benchmarks/engine/curves.py --device cuda --out DIR      (or: cpu, on one thread)

The raw loop (AdamW, fused on a GPU, clipped) and Step in turns in one process; medians over the turns, in milliseconds
per step. Writes DIR/curves-DEVICE.json.
"""

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from zerograd import Step

Take = Callable[[list[Tensor]], object]
TURNS = 5
POINTS = {
    "tensors": [10, 30, 100, 300, 1000, 3000],
    "micro-batches": [1, 2, 4, 8, 16, 32, 64],
    "parameters": [1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000, 300_000_000],
}


def model(curve: str, point: int) -> nn.Module:
    torch.manual_seed(0)
    if curve == "tensors":
        return nn.Sequential(*(nn.Linear(32, 32) for _ in range(point // 2)))
    layers, width = (8, 256) if curve == "micro-batches" else (4, round((point / 4) ** 0.5))
    return nn.Sequential(*(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())))


def data(net: nn.Module, curve: str, point: int, device: str) -> list[Tensor]:
    width = next(net.parameters()).shape[1]
    count = point if curve == "micro-batches" else 1
    return [torch.randn(16, width, device=device) for _ in range(count)]


def _optimizer(net: nn.Module, device: str) -> torch.optim.Optimizer:
    return torch.optim.AdamW(net.parameters(), lr=1e-4, fused=device == "cuda")


def raw(net: nn.Module, device: str, example: list[Tensor]) -> Take:
    optimizer = _optimizer(net, device)

    def take(group: list[Tensor]) -> None:
        optimizer.zero_grad()
        for x in group:
            (net(x).square().mean() / len(group)).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return take


def stepped(net: nn.Module, device: str, example: list[Tensor], *, grads: str = "none") -> Take:
    step = Step(_optimizer(net, device), clip=1.0, grads=grads)  # type: ignore[arg-type]

    def take(group: list[Tensor]) -> None:
        with step:
            for x in step.micro_batches(group):
                step.backward(net(x).square().mean())

    return take


def captured(net: nn.Module, device: str, example: list[Tensor]) -> Take:
    step = Step(_optimizer(net, device), clip=1.0)

    def deposit(group: list[Tensor]) -> None:
        for x in step.micro_batches(group):
            step.backward(net(x).square().mean())

    return step.capture(deposit, example)


WAYS: dict[str, Callable[[nn.Module, str, list[Tensor]], Take]] = {
    "raw loop": raw,
    "Step": stepped,
    'Step(grads="flat")': lambda net, device, example: stepped(net, device, example, grads="flat"),
    "Step, captured": captured,
}


def measure(curve: str, point: int, device: str) -> dict[str, float]:
    takes = {}
    for name, make in WAYS.items():
        if name == "Step, captured" and device == "cpu":
            continue
        with torch.device(device):
            net = model(curve, point)
        takes[name] = make(net, device, data(net, curve, point, device))
    group = data(net, curve, point, device)
    times: dict[str, list[float]] = {name: [] for name in takes}
    for turn in range(TURNS + 1):
        for name, take in takes.items():
            _wait(device)
            started, count = time.perf_counter(), 0
            while count < 3 or (time.perf_counter() - started < 0.05 and count < 100):
                take(group)
                count += 1
            _wait(device)
            if turn:  # the first warms up
                times[name].append((time.perf_counter() - started) / count)
    return {name: round(statistics.median(own) * 1e3, 4) for name, own in times.items()}


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--out", type=Path, default=Path("."))
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    told: dict[str, dict[int, dict[str, float]]] = {}
    for curve, points in POINTS.items():
        told[curve] = {}
        for point in points:
            if chosen.device == "cpu" and point > 30_000_000:
                continue
            told[curve][point] = measure(curve, point, chosen.device)
            print(curve, point, told[curve][point], flush=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / f"curves-{chosen.device}.json").write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
