"""Does an iteration leave graphs behind that nobody will use again?"""

from collections.abc import Iterator

from zerograd.core.world import By, Kept
from zerograd.source.execute import keeping
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.tables import Deposit


def retained(ex: Execution) -> Iterator[Kept]:
    yield from _added(ex)
    yield from _told_to_keep(ex)
    yield from _carried(ex)


def _told_to_keep(ex: Execution) -> Iterator[Kept]:
    """The backwards that keep their graphs for nobody."""
    seen = ex.looks or ex.tables.slopes_read
    for site, one in ex.told_to_keep.items():
        if site not in ex.needed and not (one.recorded and seen):
            yield Kept(site, one.what, False, one.certain, By.RECORDED if one.recorded else By.RETAINED)


def _carried(ex: Execution) -> Iterator[Kept]:
    """Where an iteration goes on from the graph of the one before, through which a backward has surely gone."""
    sites = {ex.entered_at[one] for one in ex.spent & ex.returned_to if one in ex.entered_at}
    for site, what in sorted(sites):
        yield Kept(site, what, False, True, By.CARRIED)


def _added(ex: Execution) -> Iterator[Kept]:
    """What the iterations of loops that train leave behind with its graph, and no backward goes through."""
    for site, kept in ex.kept.items():
        training = [
            deposit for at, deposit in ex.deposits.items() if kept.loop in deposit.loops and ex.tables.owners.get(at)
        ]
        if kept.holder is not None and (kept.holder in ex.emptied or kept.holder.shown):
            continue
        through = [deposit for deposit in training if _shares(ex, kept, deposit)]
        freed = any(deposit.leaves.graph is False for deposit in through)
        if training and site not in ex.wanted and (kept.live or through):
            yield Kept(site, kept.what, freed, freed or site not in ex.given_away)


def _shares(ex: Execution, kept: keeping.Kept, deposit: Deposit) -> bool:
    """Whether a backward goes through what is kept."""
    mine = frozenset().union(*(ex.identities.parts(one) for one in kept.graphs))
    return not ex.graphed.isdisjoint(mine & ex.identities.parts(deposit.value.id))
