"""What an executed root answers when it is asked as a run would be: see `core/world.py`.

The bounds of an answer come from the values: what is exact and made in sight is sure, anything else may be.
"""

from collections.abc import Iterable
from functools import cached_property

from zerograd.core.events import Event
from zerograd.core.world import (
    Clear,
    Exhausted,
    HeldTwice,
    Kept,
    Params,
    Region,
    Shared,
    Thing,
    UnclearedClosure,
    Unsettled,
    Untaught,
    UnusedClip,
    Wasted,
    Window,
)
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.regions import is_unknown
from zerograd.source.questions import clears, clips, closures, retained, scales, shared, untaught, wasted, windows


class SourceWorld:
    """A World. Several rules may ask one question: what takes work is answered once."""

    def __init__(self, execution: Execution) -> None:
        self._ex = execution
        self._things = {obj.number: obj for obj in execution.heap.all()}

    def held(self, optimizer: Thing, at: Event) -> Params:
        obj = self._things.get(optimizer)
        if obj is None or obj.kind is not ObjectKind.OPTIMIZER:
            return Params()
        return _params(obj.held if not obj.many else frozenset(), obj.held or {obj})

    def reached(self, deposit: Event) -> Params:
        met = self._ex.deposits.get(deposit.site) if deposit.site is not None else None
        return _params(met.value.sure, met.value.made_of) if met is not None else Params()

    def cleared(self, clear: Event) -> Params:
        regions = self._ex.cleared.get(clear.site, frozenset()) if clear.site is not None else frozenset()
        return _params(regions, regions)

    def outlives(self) -> Iterable[Kept]:
        return retained.retained(self._ex)

    def windows(self) -> Iterable[Window]:
        return self._windows

    @cached_property
    def _windows(self) -> tuple[Window, ...]:
        return tuple(windows.windows(self._ex))

    def untaught(self) -> Iterable[Untaught]:
        return untaught.untaught(self._ex)

    def wasted(self) -> Iterable[Wasted]:
        return wasted.wasted(self._ex)

    def unused_clips(self) -> Iterable[UnusedClip]:
        return clips.unused(self._ex)

    def uncleared_closures(self) -> Iterable[UnclearedClosure]:
        return closures.uncleared(self._ex)

    def unsettled_scalers(self) -> Iterable[Unsettled]:
        return scales.unsettled(self._ex)

    def exhausted(self) -> Iterable[Exhausted]:
        return self._ex.exhausted.values()

    def shared(self) -> Iterable[Shared]:
        return shared.growing(self._ex)

    def held_twice(self) -> Iterable[HeldTwice]:
        return self._ex.held_twice.values()

    def needless_clears(self) -> Iterable[Clear]:
        yield from clears.cleared_twice(self._ex)
        yield from clears.zeros_kept(self._ex)


def _params(sure: Iterable[Obj], may: Iterable[Obj]) -> Params:
    return Params(
        frozenset(_region(one) for one in sure if not is_unknown(one)), frozenset(_region(one) for one in may)
    )


def _region(obj: Obj) -> Region:
    """A part of a module is told as that module and the way to the part."""
    path: list[str] = []
    key = obj.key
    while key[:1] == ("part",) and isinstance(key[1], Obj):  # not a name: of an object
        path.append(str(key[2]))
        obj = key[1]
        key = obj.key
    return Region(obj.number, tuple(reversed(path)))
