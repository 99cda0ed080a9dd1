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


class Deposit(NamedTuple):
    """One backward: the modules it is proved to fill, and the optimizers that step on it."""

    reaches: frozenset[str]
    serves: frozenset[str]


Deposits = dict[Site, Deposit]


class Owned(NamedTuple):
    """What one slot holds, and which optimizers each deposit of the program is meant for."""

    slot: str = ""
    modules: frozenset[str] = frozenset()
    deposits: Deposits = {}

    def is_foreign(self, act: Act, modules: frozenset[str]) -> bool:
        """Whether a deposit fills `modules`, the slot's own, on behalf of other optimizers alone."""
        if act.kind is not Kind.DEPOSIT or not modules or act.reaches.isdisjoint(modules):
            return False
        return self._is_for_others(act)

    def may_be_foreign(self, act: Act) -> bool:
        """Whether a deposit for others goes through a module that a deposit for the slot goes through as well: nobody
        says whose parameters that has, but they may be the slot's."""
        if self.modules or act.kind is not Kind.DEPOSIT or not act.reaches or not self._is_for_others(act):
            return False
        return any(self.slot in own.serves and act.reaches & own.reaches for own in self.deposits.values())

    def _is_for_others(self, act: Act) -> bool:
        deposit = self.deposits.get(act.site)
        return deposit is not None and bool(deposit.serves) and self.slot not in deposit.serves


NOT_SHARED = Owned()


def read_objectives(block: Block, body_of: Callable[[Function], Block]) -> Deposits:
    """The deposits of a block and of what it calls, each with the optimizers it serves."""
    serves: dict[Site, set[str]] = {}
    reaches: dict[Site, frozenset[str]] = {}
    open_: list[Site] = []  # deposits that no step has followed yet
    stepped = False
    acts = list(islice(_linear(block, body_of, 0), _MOST + 1))
    for act, slot in acts if len(acts) <= _MOST else ():
        if act.kind is Kind.DEPOSIT:
            if stepped:
                open_, stepped = [], False
            open_.append(act.site)
            reaches[act.site] = act.reaches
        elif act.kind is Kind.CONSUME and slot is not None:
            stepped = True
            for site in open_:
                serves.setdefault(site, set()).add(slot)
    return {site: Deposit(reaches[site], frozenset(slots)) for site, slots in serves.items()}


def _linear(block: Block, body_of: Callable[[Function], Block], depth: int) -> Iterator[tuple[Act, str | None]]:
    """Deposits and steps in text order, calls in place, slots as the outermost function names them."""
    for node in walk(block):
        if isinstance(node, Act) and node.kind in (Kind.DEPOSIT, Kind.CONSUME):
            yield node, node.slot
        elif isinstance(node, Call) and depth < _DEPTH:
            for act, slot in _linear(body_of(node.function), body_of, depth + 1):
                yield act, node.outside(slot) if slot is not None else None
