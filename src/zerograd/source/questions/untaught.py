"""What looks as if it learned, and does not: see `Why`."""

from collections.abc import Iterator

from zerograd.core.world import Untaught, Why
from zerograd.source.execute.execution import Execution
from zerograd.source.questions import barren, handed, idle, ungraded


def untaught(ex: Execution) -> Iterator[Untaught]:
    for site, certain in idle.idle_terms(ex):
        yield Untaught(site, Why.CUT, certain)
    for why, sites in (
        (Why.NO_GRADIENT, ungraded.ungraded(ex)),
        (Why.NOT_RETURNED, handed.not_handed(ex)),
        (Why.NEW_LEAF, barren.barren(ex)),
    ):
        for site in sites:
            yield Untaught(site, why)
