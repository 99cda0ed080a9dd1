"""The events of a trace as the timeline draws them: each as one row, or bundled where there are too many to tell apart.

Loops repeat themselves, so a row is two numbers: which shape of event it is (kind, optimizer, line, content after it),
and how many microseconds after the row before.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.machine import Content
from zerograd.report.lane import LEAKED, REFUSED
from zerograd.report.series import rounded

KINDS = [kind.value for kind in Kind]
CONTENTS = [*(content.value for content in Content), LEAKED, REFUSED]
_KIND = {kind: KINDS.index(kind.value) for kind in Kind}
# Which content a bundle shows, if its events left several: what a reader must not miss, the last of these.
_ORDER = [CONTENTS.index(one) for one in ("new", "empty", "spent", REFUSED, "fresh", "lost", LEAKED, "mixed")]
_WEIGHT = {content: weight for weight, content in enumerate(_ORDER)}
NUMBERS = ("norm", "loss", "took", "limit", "scale", "items")
_EDGE = 1500  # events at both ends of a trace that are never bundled


class Shape(NamedTuple):
    lane: int
    kind: int  # -1: a bundle
    content: int  # in which the optimizer stands after it
    site: int = -1
    what: int = -1
    hit: int = -1
    flags: int = 0  # of an event: 1 scaled, 2 skipped, 4 a correction. Of a bundle: a bit for each kind in it


class Rows:
    """Rows of one process. `size`: events to a bundle, 1 for none. `kept`: events that stay single in any case."""

    def __init__(self, events: int, *, size: int, kept: Iterable[int]) -> None:
        self._events, self._size = events, size
        self._kept = set(kept)
        self.shapes: dict[Shape, int] = {}
        self.row: list[int] = []
        self.at: list[int] = []
        self.count: list[int] = []
        self.numbers: dict[str, tuple[list[int], list[float | None]]] = {}
        self._bundles: dict[int, list[int]] = {}  # of each lane: kinds, content, events, at
        self._open = -1
        self._time = 0
        self._ends: list[int] = []
        self._known: list[Shape] = []

    def add(self, ordinal: int, shape: Shape, at: int | None, numbers: dict[str, float]) -> None:
        single = self._size == 1 or ordinal < _EDGE or ordinal >= self._events - _EDGE or ordinal in self._kept
        if not single:
            if ordinal // self._size != self._open:
                self._close()
                self._open = ordinal // self._size
            mine = self._bundles.setdefault(shape.lane, [0, 0, 0, at or 0])
            mine[0] |= 1 << shape.kind | (1 << 30 if shape.flags & 2 else 0)
            mine[1] = max(mine[1], _WEIGHT[shape.content])
            mine[2] += 1
            return
        self._close()
        for name in NUMBERS:
            if name in numbers:
                rows, values = self.numbers.setdefault(name, ([], []))
                rows.append(len(self.row))
                value = numbers[name]
                values.append(rounded(value) if abs(value) < float("inf") else None)
        self._put(shape, at, 1)

    def _close(self) -> None:
        for lane, (kinds, weight, events, at) in self._bundles.items():
            self._put(Shape(lane, -1, _ORDER[weight], flags=kinds), at, events)
        self._bundles = {}

    def _put(self, shape: Shape, at: int | None, events: int) -> None:
        self.row.append(self.shapes.setdefault(shape, len(self.shapes)))
        now = self._time if at is None else at
        self.at.append(now - self._time)
        self._time = now
        self.count.append(events)

    def row_at(self, event: int) -> int:
        """The row that an event stands in."""
        self._close()
        if self._size == 1:
            return min(event, len(self.row) - 1)
        if len(self._ends) != len(self.count):
            self._ends = list(accumulate(self.count))
        return min(bisect_right(self._ends, event), len(self.row) - 1)

    def lane_of(self, row: int) -> int:
        if len(self._known) != len(self.shapes):
            self._known = list(self.shapes)
        return self._known[self.row[row]].lane

    def columns(self) -> dict[str, object]:
        self._close()
        known: dict[str, object] = {"shape": self.row, "at": self.at if any(self.at) else []}
        if self._size > 1:
            known |= {"count": self.count, "bundle": self._size}
        known["numbers"] = {name: {"row": _steps(rows), "y": values} for name, (rows, values) in self.numbers.items()}
        return known


def shape_of(lane: int, kind: Kind, held: str, site: int, what: int, hit: int | None, flags: int) -> Shape:
    return Shape(lane, _KIND[kind], CONTENTS.index(held), site, what, -1 if hit is None else hit, flags)


def _steps(rows: list[int]) -> list[int]:
    """Each as the distance from the one before: small numbers."""
    return [row - before for before, row in zip([0, *rows], rows, strict=False)]
