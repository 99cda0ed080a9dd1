"""Does every term of a loss teach? One that was cut from its graph is in the value, and moves nothing."""

from collections.abc import Iterator

from zerograd.core.events import Site
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.gradients import held_by
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.regions import Covers


def idle_terms(ex: Execution) -> Iterator[tuple[Site, bool]]:
    """(where the term was added, whether it is certain) of every loss that goes backward and is stepped on."""
    for site, deposit in ex.deposits.items():
        owners = ex.tables.owners.get(site, set())
        for added_at, cut_from in deposit.value.idle:
            reached = [_reaches(ex, optimizer, cut_from) for optimizer in owners]
            if Covers.YES in reached:
                yield added_at, True
            elif Covers.MAYBE in reached:
                # Nobody knows what a given optimizer holds; but it trains what the other terms of the loss go through.
                alone = len(owners) == 1 and not any(one.hinted or one.held for one in owners)
                yield added_at, alone and cut_from <= deposit.value.made_of


def _reaches(ex: Execution, optimizer: Obj, regions: frozenset[Obj]) -> Covers:
    found = [ex.overlap.of(region, regions) for region in held_by(optimizer)]
    return Covers.YES if Covers.YES in found else Covers.MAYBE if Covers.MAYBE in found else Covers.NO
