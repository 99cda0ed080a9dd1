"""The pictures of benchmarks/results/engine.md, drawn from benchmarks/results/data/engine.json.

python benchmarks/engine/plots.py        (needs matplotlib)
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

RESULTS = Path(__file__).parents[1] / "results"
COLOURS = {"raw loop": "#888888", "Step": "#1f77b4", 'Step(grads="flat")': "#2ca02c", "Step, captured": "#d62728"}
WAYS = ["raw loop", "Accelerate", "Fabric", "raw loop + compile", "graph by hand", "Step", "Step, captured",
        "Step, captured + compile"]  # fmt: skip


def bars(told: dict[str, dict[str, dict[str, float]]]) -> None:
    tasks = [task for task in told if "compiled" not in task]
    # Two abreast: read in a column of text, all in a row would be too small.
    rows = -(-len(tasks) // 2)
    figure, places = plt.subplots(rows, 2, figsize=(8.4, 2.6 * rows), layout="constrained")
    for axes in places.flat[len(tasks) :]:
        axes.remove()
    for axes, task in zip(places.flat, tasks, strict=False):
        both = told.get(f"{task}, compiled", {}) | told[task]  # the largest one's compiled ways were measured apart
        known = [way for way in WAYS if way in both]
        times = [both[way]["ms"] for way in known]
        axes.barh(
            known[::-1], times[::-1], color=["#d62728" if "captured" in way else "#999999" for way in known[::-1]]
        )
        for place, value in enumerate(times[::-1]):
            axes.annotate(f" {value:.3g}", (value, place), va="center", fontsize=8)
        axes.set_title(task, fontsize=9, loc="right")
        axes.set_xlabel("ms per optimizer step", fontsize=8)
        axes.margins(x=0.15)
        _quiet(axes)
    figure.savefig(RESULTS / "engine-gpu.svg")


def curves(told: dict[str, dict[str, dict[str, float]]]) -> None:
    figure, places = plt.subplots(1, 3, figsize=(8.4, 3.2), layout="constrained")
    for axes, (name, points) in zip(places, told.items(), strict=True):
        for way, colour in COLOURS.items():
            found = [(int(point), times[way]) for point, times in points.items() if way in times]
            if found:
                axes.loglog(*zip(*found, strict=True), marker="o", markersize=3, color=colour, label=way)
        axes.set_xlabel(name, fontsize=9)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(which="major", alpha=0.3)
        _quiet(axes)
    places[0].set_ylabel("ms per optimizer step", fontsize=9)
    places[0].legend(fontsize=8, frameon=False, loc="upper left")
    figure.savefig(RESULTS / "engine-curves.svg")


def _quiet(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "zerograd", "savefig.facecolor": "white"})
    data = json.loads((RESULTS / "data" / "engine.json").read_text())
    bars(data["results"])
    curves(data["curves"])
