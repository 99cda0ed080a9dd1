"""Every way to take an optimizer step on a GPU, side by side:

    PYTHONPATH=src python3 benchmarks/engine/gpu --out DIR [--only WORD ...]

All ways of a task run in one process and in turns, so that they share the machine's moods; told are medians over the
turns. Before that each way takes 50 steps from the same weights on the same data, and its weights are compared with
those of the raw loop: a way whose weights differ by more than rounding is an error, and the exit status 1. What
rounding is, a raw loop from weights that are one rounding off tells. Libraries that are not installed are left out.
Writes DIR/gpu.json.
"""

import argparse
import gc
import json
import logging
import statistics
import traceback
import warnings
from pathlib import Path

import torch
from models import TASKS, Batch, Task
from torch import Tensor, nn
from ways import APART, OWNERS, WAYS, Take

STEPS, TURNS = 50, 5


class Way:
    """One way on one task: prepared, checked, and ready to be timed."""

    def __init__(self, name: str, task: Task, data: list[list[Batch]]) -> None:
        gc.collect()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        self.name, self.task, self.times = name, task, list[float]()
        self.model = task.model()
        self.start = _weights(self.model)
        self.take: Take = WAYS[name](task, self.model)
        torch.cuda.reset_peak_memory_stats()
        for place in range(STEPS):
            self.take(data[place % len(data)])
        torch.cuda.synchronize()
        self.peak = torch.cuda.max_memory_allocated() - before
        self.end = _weights(self.model)

    def turn(self, data: list[list[Batch]]) -> None:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        for place in range(self.task.steps):
            self.take(data[place % len(data)])
        end.record()
        torch.cuda.synchronize()
        self.times.append(begin.elapsed_time(end) / self.task.steps)


def _weights(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().float().flatten().cpu() for parameter in model.parameters()])


def measure(task: Task, names: list[str]) -> dict[str, dict[str, object]]:
    data, ways, told = task.data(), list[Way](), dict[str, dict[str, object]]()
    torch._dynamo.reset()  # and never while a graph is alive: it would unload kernels that the graph launches
    for name in names:
        try:
            ways.append(Way(name, task, data))
        except ImportError:
            continue
        except Exception:  # the others shall be told all the same
            told[name] = {"error": traceback.format_exc(limit=-6)}
            print(name, told[name]["error"], flush=True)
    for _ in range(TURNS):
        for way in ways:
            way.turn(data)
    first = ways[0]
    moved = float((first.end - first.start).norm())
    for way in ways:
        low, middle, high = statistics.quantiles(way.times, n=4)
        ratios = [one / other for one, other in zip(first.times, way.times, strict=True)]
        told[way.name] = {
            "ms": round(middle, 4),
            "middle half": [round(low, 4), round(high, 4)],
            "faster than raw": round(statistics.median(ratios), 3),
            "peak GB": round(way.peak / 2**30, 3),
            "weights apart": float((way.end - first.end).norm()) / moved,
        }
    return told


def judge(results: dict[str, dict[str, object]], yardstick: dict[str, dict[str, object]]) -> list[str]:
    """The ways whose weights are further from the raw loop's than a few times what one rounding of the start makes."""
    rounding = max(float(yardstick.get("raw loop, one rounding off", {}).get("weights apart", 0.0)), 1e-3)  # type: ignore[arg-type]
    return [name for name, told in results.items() if not float(told.get("weights apart", 1.0)) <= 4 * rounding]  # type: ignore[arg-type]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--only", nargs="*", default=[], help="tasks with one of these words in their names")
    parser.add_argument("--ways", nargs="*", default=[], help="these ways only; the first is what others are held to")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_float32_matmul_precision("high")
    results: dict[str, object] = {}
    failed = False
    for task in TASKS.values():
        if chosen.only and not any(word in task.name for word in chosen.only):
            continue
        all_ways = [name for name in WAYS if task.owned or name not in OWNERS]
        groups = [chosen.ways] if chosen.ways else APART if task.apart else [all_ways]
        yardstick: dict[str, dict[str, object]] = {}
        for names in groups:
            told = measure(task, names)
            yardstick = yardstick or told
            key = task.name if not task.apart else f"{task.name}: {', '.join(names)}"
            wrong = judge(told, yardstick)
            failed |= bool(wrong)
            results[key] = {"ways": told, "wrong": wrong}
            print(json.dumps({key: results[key]}, indent=1), flush=True)
            chosen.out.mkdir(parents=True, exist_ok=True)
            device = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
            (chosen.out / "gpu.json").write_text(json.dumps({**device, "results": results}, indent=1))
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
