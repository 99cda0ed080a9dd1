"""Does every term of a loss teach? One that was cut from its graph is in the value, and moves nothing."""

from collections.abc import Iterator

from zerograd.core.events import Site
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.gradients import held_by, is_dead_end, is_starved
from zerograd.source.execute.tables import Deposit
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.regions import Covers


def idle_terms(ex: Execution) -> Iterator[tuple[Site, bool]]:
    """(where the term was added, whether it is certain) of every loss that goes backward and is stepped on."""
    starving = {met.slot[0] for met in ex.met.values() if met.certain and is_starved(met.verdict)}
    for site, deposit in ex.deposits.items():
        owners = ex.tables.owners.get(site, set())
        for added_at, cut_from in deposit.value.idle:
            if not any(_reaches(ex, optimizer, cut_from) is Covers.YES for optimizer in owners & starving):
                yield from _added(ex, deposit, owners, added_at, cut_from)
        if owners - starving:
            yield from _copied(ex, deposit, owners)


def _added(
    ex: Execution, deposit: Deposit, owners: set[Obj], added_at: Site, cut_from: frozenset[Obj]
) -> Iterator[tuple[Site, bool]]:
    """A term that was added without its graph."""
    reached = [_reaches(ex, optimizer, cut_from) for optimizer in owners]
    if Covers.YES in reached:
        yield added_at, True
    elif Covers.MAYBE in reached:
        # Nobody knows whether the optimizer holds it; but it trains what the other terms of the loss go through.
        made_of, lost = deposit.value.made_of - {ex.heap.anything}, cut_from - {ex.heap.anything}
        alone = len(owners) == 1 and not any(one.hinted for one in owners)
        within = all(ex.overlap.of(one, made_of) is Covers.YES for one in lost)
        is_all = lost == made_of or (within and not any(one.held for one in owners))
        yield added_at, alone and is_all and bool(lost)


def _copied(ex: Execution, deposit: Deposit, owners: set[Obj]) -> Iterator[tuple[Site, bool]]:
    """A part of the loss that was copied into a leaf: its gradient ends there, and nobody reads it."""
    for leaf in deposit.value.sure:
        cut = any(_reaches(ex, optimizer, leaf.copied_from) is Covers.YES for optimizer in owners)
        if cut and leaf.site is not None and is_dead_end(ex, leaf):
            yield leaf.site, True


def _reaches(ex: Execution, optimizer: Obj, regions: frozenset[Obj]) -> Covers:
    found = [ex.overlap.of(region, regions) for region in held_by(optimizer)]
    return Covers.YES if Covers.YES in found else Covers.MAYBE if Covers.MAYBE in found else Covers.NO
