"""Is what goes backward handed to whoever goes backward? Lightning learns from what training_step() returns."""

from collections.abc import Iterator

from zerograd.core.events import Site
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.values import Graph, is_none


def not_handed(ex: Execution) -> Iterator[Site]:
    """Where the last loss is computed that a step neither returns nor hands to anybody."""
    if ex.returned is None or not is_none(ex.returned) or ex.deposits:
        return
    losses = [(site, value) for site, value in ex.computed.items() if value.graph is Graph.LIVE]
    if losses and not any(value.id in ex.tables.asked_for_gradient for _, value in losses):
        yield losses[-1][0]
