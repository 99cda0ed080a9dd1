"""Whose step a backward is meant for, where several optimizers share a loop.

A deposit serves the optimizers that step next behind it, before anything else is deposited. A deposit that is proved to
reach a slot's modules and serves others only is another objective's: it spills into the slot.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.source.scopes import Function
from zerograd.source.skeleton import Act, Block, Call, walk

_DEPTH = 3
_MOST = 500  # acts, those of calls counted in place: beyond that a block is a tangle, and nothing is said of it
Serves = dict[Site, frozenset[str]]


class Owned(NamedTuple):
    """What one slot holds, and which optimizers each deposit of the program is meant for."""

    slot: str = ""
    modules: frozenset[str] = frozenset()
    serves: Serves = {}

    def is_foreign(self, act: Act, modules: frozenset[str]) -> bool:
        """Whether a deposit fills `modules`, the slot's own, on behalf of other optimizers alone."""
        if act.kind is not Kind.DEPOSIT or not modules or act.reaches.isdisjoint(modules):
            return False
        served = self.serves.get(act.site, frozenset())
        return bool(served) and self.slot not in served


NOT_SHARED = Owned()


def read_objectives(block: Block, body_of: Callable[[Function], Block]) -> Serves:
    """For each deposit of a block and of what it calls, the optimizers it serves."""
    serves: dict[Site, set[str]] = {}
    open_: list[Site] = []  # deposits that no step has followed yet
    stepped = False
    acts = list(islice(_linear(block, body_of, 0), _MOST + 1))
    for act, slot in acts if len(acts) <= _MOST else ():
        if act.kind is Kind.DEPOSIT:
            if stepped:
                open_, stepped = [], False
            open_.append(act.site)
        elif act.kind is Kind.CONSUME and slot is not None:
            stepped = True
            for site in open_:
                serves.setdefault(site, set()).add(slot)
    return {site: frozenset(slots) for site, slots in serves.items()}


def _linear(block: Block, body_of: Callable[[Function], Block], depth: int) -> Iterator[tuple[Act, str | None]]:
    """Deposits and steps in text order, calls in place, slots as the outermost function names them."""
    for node in walk(block):
        if isinstance(node, Act) and node.kind in (Kind.DEPOSIT, Kind.CONSUME):
            yield node, node.slot
        elif isinstance(node, Call) and depth < _DEPTH:
            for act, slot in _linear(body_of(node.function), body_of, depth + 1):
                yield act, node.outside(slot) if slot is not None else None
