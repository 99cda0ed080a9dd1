"""How steps are fed: at which places of a window a backward begins a group, adds to one, and a step ends one.

[Note: groups] Where a counter stands is an answer that every fact carries, so nobody counts micro-batches: a deposit
into a slot that holds nothing begins a group, one on top of what no step has read goes on with it. A group that begins
elsewhere than the others has another length.
"""

import ast
from collections.abc import Hashable
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import Fact, Facts
from zerograd.core.machine import Content, Mark
from zerograd.source.execute import branches, counters
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Slot
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import Last, Place, Test, places_of
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.values import Pass

_UNREAD = frozenset({Content.FRESH, Content.MIXED})
# What was cleared before a step has read it, and what an iteration that was given up has left, begins no group.
_BEGINS = frozenset({Content.NEW, Content.EMPTY, Content.SPENT})
_DECIDES = frozenset({Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR})


class Fed:
    """What a backward finds in the slots of an optimizer that it feeds."""

    __slots__ = ("adds", "begins", "finds_lost", "may_add", "may_begin")

    def __init__(self) -> None:
        self.begins: dict[Place, set[str]] = {}  # where in each window it deposits into what holds nothing
        self.may_begin: dict[Place, set[str]] = {}  # the same, unless somebody has deposited before
        self.adds = False  # it adds to what an earlier micro-batch has left, surely
        self.may_add = False  # unless somebody who cannot be read clears
        self.finds_lost = False  # somebody in sight clears inside a group, on some path


class Taken(NamedTuple):
    """A step that was taken."""

    what: str
    loops: tuple[Hashable, ...]
    places: dict[Place, set[str | None]]  # where in each window; None: nobody knows
    forced: set[Hashable]  # the loops whose last iteration is stepped on, wherever a window stands
    fresh: bool  # a backward of the same iteration feeds it
    unheard: dict[Pass, bool]  # the forward passes that no wrapper has heard of, and whether that is sure
    decided: set[bool]  # whether anything else decides if it is taken in an iteration
    branched: set[bool]  # whether it stands in a branch inside its loops
    accumulating: bool  # an accelerator decides when it is taken
    untouched: set[bool]  # whether nobody outside this function may have cleared before it


class Handed(NamedTuple):
    """Somebody who cannot be read was handed gradients that no step had read yet."""

    loops: tuple[Hashable, ...]
    tests: frozenset[Test]  # of the branches that it stands in, and that another iteration may not take


def note_deposit(ex: Execution, optimizer: Obj, site: Site, facts: Facts) -> None:
    fed = ex.fed.setdefault((site, optimizer), Fed())
    caught = _is_caught(ex)
    for fact in facts:
        content = fact.state.content
        if content in _UNREAD:
            fed.may_add = True
            fed.adds = fed.adds or not fact.doubts & {Kind.CLEAR, Kind.CONSUME}
        elif content is Content.LOST:
            fed.finds_lost = True
        elif content in _BEGINS and not caught and Mark.LEFT not in fact.state.marks:
            unsure = fact.doubts & _DECIDES
            for asked, told in answers.answers_of(fact):
                if not isinstance(asked, Place) or answers.is_single(fact, asked.of):
                    continue
                # Whatever was done before the loop began, its first group begins where its counter does.
                if not unsure or (content is Content.NEW and told in _starts(ex, asked)):
                    fed.begins.setdefault(asked, set()).add(told)
                elif unsure == {Kind.DEPOSIT}:
                    fed.may_begin.setdefault(asked, set()).add(told)


def _starts(ex: Execution, place: Place) -> tuple[str, ...]:
    return counters.start_places(ex, counters.count_of(ex, place.counter).start, place) or ()


def _is_caught(ex: Execution) -> bool:
    """Whether what a backward raises is caught in the loop, which goes on without it."""
    loops = [loop for frame in ex.frames for loop in frame.loops]
    return bool(ex.handlers and loops) and ex.handlers[-1].level > loops[-1].level


def note_step(ex: Execution, slot: Slot, site: Site, what: str, *, fresh: bool, unheard: dict[Pass, bool]) -> None:
    """Before an optimizer steps, to which this slot belongs."""
    optimizer, facts = slot[0], ex.here.facts[slot]
    assert optimizer is not None
    key = (optimizer, site, ex.context)
    known = ex.taken.get(key)
    if known is None:
        known = ex.taken[key] = Taken(
            what, tuple(ex.loops), {}, set(), fresh, {}, set(), set(), ex.accumulating is not None, set()
        )
    known.decided.add(any(guard.inside and branches.varies(ex, guard.test) for guard in ex.guards))
    known.branched.add(any(guard.inside for guard in ex.guards))
    for one, sure in unheard.items():
        known.unheard[one] = known.unheard.get(one, False) or sure
    unread = ex.excuses.is_from_elsewhere(slot, Kind.CLEAR)
    known.untouched.add(not unread or any(Kind.CLEAR not in fact.doubts for fact in facts))
    asked = [
        place
        for counter, places in ex.tables.windows.items()
        if counter.loop in ex.loops
        for place in places
        if place in ex.tables.weighty
    ]
    for fact in facts:
        for place in asked:
            if answers.is_single(fact, place.of):
                continue  # a window of one micro-batch has one place
            last = last_of(ex, fact, place)
            if last:
                known.forced.update(last)
            else:
                known.places.setdefault(place, set()).add(answers.answer(fact, place))


def note_handed(ex: Execution, slot: Slot) -> None:
    """Before somebody who cannot be read may do something to a slot."""
    if slot[0] is not None and any(fact.state.content in _UNREAD for fact in ex.here.facts[slot]):
        tests = frozenset(guard.test for guard in ex.guards if guard.inside and branches.varies(ex, guard.test))
        ex.handed.setdefault(slot[0], set()).add(Handed(tuple(ex.loops), tests))


def last_of(ex: Execution, fact: Fact, place: Place) -> set[Hashable]:
    """The loops that count, or stand in one that does, whose last iteration it is."""
    inside = ex.loops[ex.loops.index(place.counter.loop) :]
    return {loop for loop in inside if answers.answer(fact, Last(loop)) is True}


def waits(taken: Taken, place: Place) -> bool:
    """Whether a step is taken at some places of the window alone."""
    wanted = taken.places.get(place, set())
    return bool(wanted) and None not in wanted and len(wanted) < len(places_of(place.of))


class Decision(NamedTuple):
    """A test that asks for a place in a window, and decides over events."""

    site: Site
    text: str


def note_decision(ex: Execution, place: Place, node: ast.AST) -> None:
    """Where the answer was handed over from elsewhere, the call that did so decides."""
    asked, frames = getattr(node, "test", node), ex.frames
    at, asking = len(frames) - 1, ex.tables.asking.get(place, set())
    while at and frames[at].function not in asking:
        at -= 1
    call = frames[at + 1].called_at if at + 1 < len(frames) and frames[at].function in asking else None
    decides, depth = (call, at) if isinstance(call, ast.Call) else (asked, None)
    if isinstance(decides, ast.expr):
        ex.tables.decided.setdefault(place, {})[node] = Decision(ex.site(decides, depth), ast.unparse(decides))
