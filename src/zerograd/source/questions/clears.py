"""Does every clear have something to clear? And does anybody need the zeros that one writes?"""

from collections.abc import Iterator

from zerograd.core.world import Clear
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import ObjectKind
from zerograd.source.heap.regions import Covers


def cleared_twice(ex: Execution) -> Iterator[Clear]:
    """Clears that find nothing, on whatever path and how often one gets there: one beside it was faster."""
    for site, met in ex.clears.items():
        if not met.idle or not met.again:
            continue
        others = [
            other
            for other, its in ex.clears.items()
            if other != site
            and its.where == met.where
            and any(ex.overlap.of(region, its.regions) is Covers.YES for region in met.regions)
        ]
        if others:
            before = [other for other in others if other < site] or others
            first = max(before)
            yield Clear(site, met.what, after=f"{ex.clears[first].what} on line {first.line}", first=first)


def zeros_kept(ex: Execution) -> Iterator[Clear]:
    """Clears that fill with zeros, where no gradient is ever looked at and none must keep its place."""
    needed = (ObjectKind.GRADIENT, ObjectKind.REPLAY)
    if ex.captures or any(one.kind in needed for one in ex.heap.all()):
        return
    for site, met in ex.clears.items():
        if met.zeros and ex.tables.training:
            yield Clear(site, met.what, zeros=True)
