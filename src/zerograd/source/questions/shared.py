"""Does who hands its gradient over get rid of it? Cleared on the other side alone, it goes on growing."""

from collections.abc import Iterator

from zerograd.core.events import Site
from zerograd.core.world import Shared
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.regions import Covers


def growing(ex: Execution) -> Iterator[Shared]:
    for one in ex.shared.values():
        clear = _clear_of(ex, one.taker)
        if clear is not None:
            yield Shared(one.site, one.what, one.giver, f"{ex.clears[clear].what} on line {clear.line}", one.certain)


def _clear_of(ex: Execution, taker: Obj) -> Site | None:
    """Where the other side is cleared."""
    found = [site for site, met in ex.clears.items() if ex.overlap.of(taker, met.regions) is not Covers.NO]
    return min(found, default=None)
