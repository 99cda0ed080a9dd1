"""Does an iteration leave graphs behind that nobody will use again?"""

from collections.abc import Iterator

from zerograd.core.world import By, Kept
from zerograd.source.execute import keeping
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.tables import Deposit
from zerograd.source.heap.objects import Obj


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
        through = [deposit for deposit in training if _shares(ex, kept, deposit)]
        freed = any(deposit.leaves.graph is False for deposit in through)
        if site in ex.wanted or (kept.holder is not None and _may_be_emptied(ex, kept.holder, freed=freed)):
            continue
        if training and (kept.live or through):
            yield Kept(site, kept.what, freed, freed or site not in ex.given_away)
        elif not training and kept.live and kept.holder is None and site not in ex.given_away and _evaluates(ex, kept):
            yield Kept(site, kept.what, False, True)


def _may_be_emptied(ex: Execution, holder: Obj, *, freed: bool) -> bool:
    """Whether somebody takes something out of a list; or goes backward through it, as long as that is not done."""
    return holder in ex.emptied or holder in ex.maybe_emptied or (holder.shown and not freed)


def _evaluates(ex: Execution, kept: keeping.Kept) -> bool:
    """Whether a loop goes through data for a network that is trained elsewhere, and is no part of that."""
    learning = [deposit for at, deposit in ex.deposits.items() if ex.tables.owners.get(at)]
    trained = any(not kept.whose.isdisjoint(deposit.value.made_of) for deposit in learning)
    trained = trained and any(
        kept.loop in ex.begun_in.get(one, ()) for one in kept.through
    )  # each has a pass of its own
    inside = any(deposit.loops and deposit.loops[-1] in kept.around for deposit in learning)
    return trained and not inside and kept.loop not in ex.over_parameters


def _shares(ex: Execution, kept: keeping.Kept, deposit: Deposit) -> bool:
    """Whether a backward goes through what is kept."""
    mine = kept.through.union(*(ex.identities.parts(one) for one in kept.graphs))
    theirs = deposit.value.through | ex.identities.parts(deposit.value.id)
    return not ex.graphed.isdisjoint(mine & theirs)
