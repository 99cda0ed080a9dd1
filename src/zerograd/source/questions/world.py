"""What an executed root answers when it is asked as a run would be: see `core/world.py`.

The bounds of an answer come from the values: what is exact and made in sight is sure, anything else may be.
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import chain, takewhile
from typing import Any, TypeVar

from zerograd.core.events import Event
from zerograd.core.world import (
    Clear,
    Exhausted,
    HeldTwice,
    Kept,
    LostUpdate,
    Missing,
    Orphaned,
    Params,
    Region,
    Shared,
    Thing,
    UnclearedClosure,
    Unowned,
    Unsettled,
    Untaught,
    UnusedClip,
    Wasted,
    Window,
)
from zerograd.source.execute import containers, lost_updates
from zerograd.source.execute.containers import ELEMENT
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.regions import is_unknown
from zerograd.source.questions import (
    clears,
    clips,
    closures,
    orphaned,
    retained,
    scales,
    shared,
    unowned,
    untaught,
    wasted,
    windows,
)

F = TypeVar("F")

_ANSWERS: dict[type, Callable[[Execution], Iterable[Any]]] = {
    Clear: lambda ex: chain(clears.cleared_twice(ex), clears.zeros_kept(ex)),
    Exhausted: lambda ex: ex.exhausted.values(),
    HeldTwice: lambda ex: ex.held_twice.values(),
    Kept: retained.retained,
    LostUpdate: lambda ex: chain(ex.lost_updates.values(), lost_updates.renamed(ex)),
    Missing: lambda ex: ex.missing.values(),
    Orphaned: orphaned.orphaned,
    Shared: shared.growing,
    UnclearedClosure: closures.uncleared,
    Unowned: unowned.unowned,
    Unsettled: scales.unsettled,
    Untaught: untaught.untaught,
    UnusedClip: clips.unused,
    Wasted: wasted.wasted,
    Window: windows.windows,
}


class SourceWorld:
    """A World. Several rules may ask one question: what takes work is answered once."""

    def __init__(self, execution: Execution) -> None:
        self._ex = execution
        self._things = {obj.number: obj for obj in execution.heap.all()}
        self._known: dict[type, tuple[Any, ...]] = {}

    def held(self, optimizer: Thing, at: Event) -> Params:
        obj = self._things.get(optimizer)
        if obj is None or obj.kind is not ObjectKind.OPTIMIZER:
            return Params()
        return _params(obj.wholly & obj.held if not obj.many else (), obj.held or {obj})

    def reached(self, deposit: Event) -> Params:
        met = self._ex.deposits.get(deposit.site) if deposit.site is not None else None
        return _params(met.value.sure, met.value.made_of) if met is not None else Params()

    def cleared(self, clear: Event) -> Params:
        met = self._ex.cleared.get(clear.site) if clear.site is not None else None
        return _params(*met) if met is not None else Params()

    def every(self, kind: type[F]) -> Iterable[F]:
        if kind not in self._known:
            self._known[kind] = tuple(_ANSWERS[kind](self._ex))
        return self._known[kind]


def _params(sure: Iterable[Obj], may: Iterable[Obj]) -> Params:
    """Of several things that one object stands for, none is sure; nor is an element of which nobody knows the place."""
    known = frozenset(_region(one) for one in sure if not is_unknown(one) and not one.many and not _is_any(one))
    return Params(known, frozenset(_region(one) for one in may))


def _is_any(obj: Obj) -> bool:
    return any(place == ELEMENT for place in _way_to(obj)[1])


def _way_to(obj: Obj) -> tuple[Obj, list[Hashable]]:
    """The module that something is a part of, and the places that lead there."""
    way: list[Hashable] = []
    while containers.is_part(obj):
        _, whole, place = obj.key
        assert isinstance(whole, Obj)
        obj, way = whole, [place, *way]
    return obj, way


def _region(obj: Obj) -> Region:
    """A part of a module is that module and the way to the part; of any of its elements, all of them."""
    whole, way = _way_to(obj)
    known = takewhile(lambda place: place != ELEMENT, way)
    return Region(whole.number, tuple(str(place[1] if isinstance(place, tuple) else place) for place in known))
