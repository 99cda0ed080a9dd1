"""Does an iteration leave graphs behind that nobody will use again?"""

from collections.abc import Iterator

from zerograd.core.world import Kept
from zerograd.source.execute import keeping
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.tables import Deposit


def retained(ex: Execution) -> Iterator[Kept]:
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
