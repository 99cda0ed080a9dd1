"""Schedules: whether one moves before its optimizer has ever stepped.

[Note: the first time] Whoever takes an arm for the first time has not taken it before: where an optimizer steps in that
arm alone, it has not stepped. That paths which skipped the arm could have taken it is no excuse.
"""

import ast
from collections.abc import Iterable
from typing import Any

from zerograd.core.events import Event, Kind
from zerograd.core.facts import NO_DOUBT, Fact
from zerograd.core.judgement import Verdict
from zerograd.core.machine import Mark
from zerograd.source.execute import gradients
from zerograd.source.execute.execution import Execution, Guard
from zerograd.source.execute.paths import Slot
from zerograd.source.heap.conditions import Asked, Known, Linear, is_followed
from zerograd.source.heap.objects import Obj


def schedule(ex: Execution, known: Iterable[Obj], node: ast.AST, *, weak: bool = False) -> None:
    """The schedule of one of these optimizers moves."""
    chosen = sorted(known)
    tables = ex.tables
    idle = not tables.training or tables.legacy or (bool(ex.loops) and ex.loops[-1] not in tables.training)
    slots = {optimizer: gradients.slots_of(ex, optimizer) for optimizer in chosen}
    sure = {slot for several in slots.values() for slot in several if not (weak or idle or _is_guarded(ex, slot))}
    apart = len(chosen) > 1 and any(tables.met_with.get(one) != {frozenset(chosen)} for one in chosen)
    shared: set[Any] = set()
    if (
        len(chosen) > 1
        and tables.active.issuperset(chosen)
        and all(sure.issuperset(several) for several in slots.values())
    ):
        shared = gradients.broken_by_each(ex, Event(Kind.SCHEDULE, site=ex.site(node)), list(slots.values()))
    for several in slots.values():
        found: list[tuple[Verdict[Any], Slot]] = []
        for slot in several:
            found += gradients.emit(ex, slot, Kind.SCHEDULE, node, weak=apart or slot not in sure)
        found = [(one._replace(certain=True) if one.law in shared else one, slot) for one, slot in found]
        gradients.tell(ex, found, several)


def _is_guarded(ex: Execution, slot: Slot) -> bool:
    """Whether a test decides over the schedule that decides over no step; or nobody steps, and the rate is read."""
    tables = ex.tables
    guarded = any(
        not is_followed(guard.test)
        and Kind.CONSUME not in tables.under.get((guard.test, guard.yes), {}).get(slot, NO_DOUBT)
        and not _is_early(ex, guard)
        for guard in ex.guards
    )
    return guarded or (slot[0] in tables.read and not tables.stepped_under.get(slot))


def enter_arm(ex: Execution, guard: Guard) -> None:
    """An arm is taken. See [Note: the first time]. Nobody out of sight may have stepped either."""
    tables, facts = ex.tables, ex.here.facts
    asked = guard.inside and not isinstance(guard.test, Known)
    for slot, steps in tables.stepped_under.items() if asked else ():
        if slot not in facts or not steps or any((guard.test, guard.yes) not in taken for taken in steps):
            continue
        if not any(Kind.CONSUME in slots.get(slot, NO_DOUBT) for slots in tables.doubted.values()):
            facts[slot] = frozenset(map(_unexcused, facts[slot]))


def _unexcused(fact: Fact) -> Fact:
    return fact if Mark.STEPPED in fact.state.marks else fact._replace(doubts=fact.doubts - {Kind.SCHEDULE})


def _is_early(ex: Execution, guard: Guard) -> bool:
    """`if epoch < warm:` is answered yes in the first iterations, if ever."""
    test = guard.test
    if not guard.yes or not isinstance(test, Asked) or test.what != "<":
        return False
    number = test.of[0]
    base = number.base if isinstance(number, Linear) else number
    return isinstance(base, int) and base in ex.counter_ids
