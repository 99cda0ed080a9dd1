"""The curve of first contact as a picture, from benchmarks/results/data/first-contact.csv.

usage: python benchmarks/check/curve.py

A point for each round: how many of the certain findings are true, and how many of the faults that its readers list are
certain. A line through several rounds together says more than any one of them, for some have few faults.
"""

from math import nan
from pathlib import Path
from typing import NamedTuple

_RESULTS = Path(__file__).parents[1] / "results"
_TOGETHER = 6  # rounds in one point of the line


class Count(NamedTuple):
    """So many of so many."""

    part: int
    whole: int


class Curve(NamedTuple):
    label: str
    colour: str
    goal: int  # percent
    counts: list[Count]  # for each round


def read(text: str) -> tuple[list[int], list[Curve]]:
    """The rounds of the table, and what each has of both; what is latent counts as true."""
    rows = [[int(cell) for cell in line.split(",")] for line in text.splitlines()[1:]]
    true = [Count(true, judged) for _, true, judged, _, _ in rows]
    found = [Count(found, faults) for *_, found, faults in rows]
    return [row[0] for row in rows], [
        Curve("certain findings that are true", "tab:blue", 95, true),
        Curve("faults that are certain", "tab:orange", 60, found),
    ]


def percent(counts: list[Count]) -> float:
    whole = sum(count.whole for count in counts)
    return 100 * sum(count.part for count in counts) / whole if whole else nan


def draw(numbers: list[int], curves: list[Curve], into: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "zerograd", "svg.fonttype": "none"}  # the same bytes for the same table
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for label, colour, goal, counts in curves:
        sizes = [6 + count.whole for count in counts]
        axes.scatter(numbers, [percent([count]) for count in counts], s=sizes, color=colour, alpha=0.35, linewidth=0)
        line = [percent(counts[max(0, at - _TOGETHER) : at]) for at in range(1, len(counts) + 1)]
        axes.plot(numbers, line, color=colour, label=f"{label}: {_TOGETHER} rounds together")
        axes.axhline(goal, color=colour, linestyle=":", linewidth=1)
    axes.set(xlabel="round, each on repositories that nobody had looked at", ylabel="%", ylim=(0, 102))
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(into, metadata={"Date": None})


if __name__ == "__main__":
    draw(*read((_RESULTS / "data" / "first-contact.csv").read_text()), _RESULTS / "first-contact.svg")
