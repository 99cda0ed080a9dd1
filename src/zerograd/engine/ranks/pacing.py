"""The micro-batches of one rank beside those of the others.

Mostly a rank only has to know which of its own is the last. Where every forward gathers parameters, or a backward
reduces whatever anybody says, all ranks need equally many: one that has fewer runs its last one again, without weight.
It costs time and changes nothing.
"""

from collections.abc import Iterator
from typing import Any

from zerograd.engine.ranks.exchange import Exchange
from zerograd.engine.weighing import MicroBatch, Weighing

Weighed = tuple[Any, MicroBatch]


def paced(exchange: Exchange, items: Iterator[Weighed], weighing: Weighing) -> Iterator[Weighed]:
    """The items, and fillers after them; the blocks know when one is the last."""
    if not exchange.paced:
        yield from _own(exchange, items)
        return
    current = _next_of(exchange, items, weighing)
    while current is not None:
        following = _next_of(exchange, items, weighing)
        for block in exchange.blocks:
            block.last, block.ahead = following is None, following is not None and not following[1].filler
        yield current
        current = following


def _own(exchange: Exchange, items: Iterator[Weighed]) -> Iterator[Weighed]:
    current = next(items, None)
    while current is not None:
        following = next(items, None)
        for block in exchange.blocks:
            block.last, block.ahead = following is None, following is not None and not following[1].filler
        yield current
        current = following


def _next_of(exchange: Exchange, items: Iterator[Weighed], weighing: Weighing) -> Weighed | None:
    """This rank's next, or a filler as long as any other has one; None when no rank has."""
    party, current = exchange.party, next(items, None)
    if not exchange.goes_on(more=current is not None, stuck=current is None and party.kept is None):
        return None
    if current is None:
        return party.kept, MicroBatch(weighing, 0.0, filler=True)
    party.kept = current[0]
    return current
