"""Is every backward used? One that a clear erases each time, before any step or anybody has looked, was for nothing."""

from collections.abc import Iterator

from zerograd.core.world import Wasted
from zerograd.source.execute.execution import Execution


def wasted(ex: Execution) -> Iterator[Wasted]:
    tables = ex.tables
    for (deposit, optimizer), (clear, what, function) in ex.wasted.items():
        met = ex.deposits.get(deposit)
        if met is None or tables.owners.get(deposit) or optimizer not in met.optimizers:
            continue
        # The optimizer learns from another loss, in the same loop.
        used = any(
            other != deposit and optimizer in owners and other in ex.deposits and ex.deposits[other].loops == met.loops
            for other, owners in tables.owners.items()
        )
        if used and not optimizer.hinted and met.loops and tables.slopes_read.isdisjoint(met.value.made_of):
            yield Wasted(clear if function is met.function else deposit, what, deposit, not tables.examined)
