"""Does a closure clear before it goes backward? A step that evaluates it again finds what the last evaluation left."""

from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.facts import NO_DOUBT
from zerograd.core.world import UnclearedClosure
from zerograd.source.execute.execution import Execution


def uncleared(ex: Execution) -> Iterator[UnclearedClosure]:
    """Every closure that runs a backward and never clears."""
    for site, closure in ex.closures.items():
        done = ex.tables.emitted.get(closure.branch, {})
        maybe = ex.tables.doubted.get(closure.branch, {})
        for slot, kinds in done.items():
            if slot[0] is closure.optimizer and Kind.DEPOSIT in kinds and Kind.CLEAR not in kinds:
                yield UnclearedClosure(site, closure.what, Kind.CLEAR not in maybe.get(slot, NO_DOUBT))
                break
