"""What changed from one run to the next: findings that came and went, counts, and the step at which numbers part.

Runs are compared as reports tell them (report/data.py), so that a report that was kept will do for a run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Report = Mapping[str, Any]  # what report/data.py makes
_COUNTS = {
    "steps": "steps",
    "deposits": "backwards",
    "clears": "clears",
    "skips": "skipped steps",
    "lost": "gradients cleared unused",
    "unused": "gradients never used",
}
_SERIES = {"loss": "loss", "norm": "gradient norm", "scale": "loss scale", "micro": "micro-batches", "items": "items"}
_STALE = ("mixed", "spent")  # what a step should not find
_SURE = ("certain", "possible")


class Kept(NamedTuple):
    """A finding of one run or of both."""

    code: str
    place: str
    message: str
    fails: bool
    before: int  # times
    after: int

    @property
    def change(self) -> str:
        return "new" if not self.before else "gone" if not self.after else "both"


class Count(NamedTuple):
    what: str
    before: int
    after: int


class Parting(NamedTuple):
    """A number over the steps of both runs."""

    what: str
    steps: int  # that both runs have; 0: their points are of so different lengths that no step can be named
    width: int  # steps in a point: where it is more than one, the step is about where they part
    step: int | None  # the first at which they differ; None: at none
    there: tuple[float, float] | None
    end: tuple[float, float]  # the last of each run


class Pair(NamedTuple):
    """One optimizer of both runs."""

    title: str
    counts: tuple[Count, ...]  # that differ, and the steps
    numbers: tuple[Parting, ...]


class Comparison(NamedTuple):
    verdicts: tuple[str, str]
    findings: tuple[Kept, ...]
    pairs: tuple[Pair, ...]
    alone: tuple[tuple[str, ...], tuple[str, ...]]  # optimizers that only one of the runs has

    @property
    def worse(self) -> bool:
        """Whether the second run has a fault that the first has not."""
        return any(one.fails and not one.before for one in self.findings)


def compare(before: Report, after: Report) -> Comparison:
    first, second = (_lanes(report) for report in (before, after))
    return Comparison(
        verdicts=(before["verdict"]["sentence"], after["verdict"]["sentence"]),
        findings=tuple(_findings(before, after)),
        pairs=tuple(_pair(lane, second[key], (before, after)) for key, lane in first.items() if key in second),
        alone=(_only(first, second), _only(second, first)),
    )


def _lanes(report: Report) -> dict[tuple[int, str], Report]:
    return {(lane["process"], lane["slot"]): lane for lane in report["lanes"]}


def _only(these: Mapping[tuple[int, str], Report], those: Mapping[tuple[int, str], Report]) -> tuple[str, ...]:
    return tuple(str(lane["title"]) for key, lane in these.items() if key not in those)


def _findings(before: Report, after: Report) -> Iterator[Kept]:
    """Lines move from one run to the next: what is not at its old line is looked for by its file, in order."""
    left = list(after["findings"])
    pending = []
    for one in before["findings"]:
        same = next((other for other in left if _place(other) == _place(one)), None)
        if same is None:
            pending.append(one)
        else:
            left.remove(same)
            yield _kept(one, same)
    for one in pending:
        moved = next((other for other in left if (other["code"], other["path"]) == (one["code"], one["path"])), None)
        if moved is not None:
            left.remove(moved)
        yield _kept(one, moved)
    for one in left:
        yield _kept(None, one)


def _place(finding: Report) -> tuple[object, ...]:
    return finding["code"], finding["path"], finding["line"], finding["cell"]


def _kept(before: Report | None, after: Report | None) -> Kept:
    told = after or before or {}
    places = dict.fromkeys(f"{one['path']}:{one['line']}" for one in (before, after) if one is not None)
    times = (sum(one["times"]) or 1 if one is not None else 0 for one in (before, after))
    return Kept(told["code"], ", now ".join(places), told["message"], bool(told["fails"]), *times)


def _pair(before: Report, after: Report, reports: tuple[Report, Report]) -> Pair:
    counts = [Count(word, before[name], after[name]) for name, word in _COUNTS.items()]
    stale = [
        sum(lane["consumed"][report["contents"].index(name)] for name in _STALE)
        for lane, report in zip((before, after), reports, strict=True)
    ]
    counts.append(Count("steps on old gradients", *stale))
    numbers = (
        _parting(word, before["series"][name], after["series"][name])
        for name, word in _SERIES.items()
        if name in before["series"] and name in after["series"]
    )
    return Pair(
        title=after["title"],
        counts=tuple(count for count in counts if count.what == "steps" or count.before != count.after),
        numbers=tuple(number for number in numbers if number is not None),
    )


def _parting(what: str, before: Report, after: Report) -> Parting | None:
    if not (before["y"] and after["y"]):
        return None
    end, width = (before["y"][-1], after["y"][-1]), before.get("width", 1)
    if width != after.get("width", 1):
        return Parting(what, 0, width, None, None, end)
    first, second = (dict(zip(series["x"], series["y"], strict=True)) for series in (before, after))
    shared: Sequence[int] = sorted(first.keys() & second.keys())
    step = next((step for step in shared if first[step] != second[step]), None)
    there = None if step is None else (first[step], second[step])
    return Parting(what, len(shared) * width, width, step, there, end)
