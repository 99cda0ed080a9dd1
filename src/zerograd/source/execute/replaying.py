"""A statement that reads what it read before, and did nothing but write names, is not executed again.

[Note: replaying] Loops are executed until nothing changes, and roots until nothing is learned: most statements meet
what they have met. What one reads and writes is recorded; where all that it read is the same, its writes are put back.
Events and doubts are never replayed: a statement that changed a path is executed every time. That a loss was computed,
and that somebody may have looked at gradients, is noted again.
"""

import ast
from collections.abc import Callable
from operator import is_
from typing import NamedTuple

from zerograd.core.facts import Facts
from zerograd.source.execute import gradients
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Path, Slot
from zerograd.source.heap.store import Changes, Reads

_PLAIN = frozenset({ast.Constant, ast.Name})  # to look it up costs more
_KEPT = 4  # records of one statement in one context


class Record(NamedTuple):
    reads: Reads
    writes: Changes
    renewed: tuple[int, ...]  # values that were computed anew: what was answered about the last ones is forgotten
    noticed: tuple[bool, bool]  # a loss was computed; somebody may have looked at gradients


def replay_or(ex: Execution, statement: ast.stmt, carry_out: Callable[..., None]) -> None:
    """Put back what a statement wrote when it read the same; else carry it out, and record it."""
    if (ex.exploring and not ex.loops) or type(getattr(statement, "value", None)) in _PLAIN:
        carry_out(ex, statement)  # the first pass goes through it once, and records do not outlive what that learns
        return
    mode = (ex.grad_mode, ex.accumulating, ex.each, ex.here.frozen, ex.here.wrapped, tuple(ex.quiet))
    where = (statement, ex.context, len(ex.loops), mode)
    records = ex.records_of.setdefault(where, [])
    store = ex.store
    for record in records:
        if store.holds(record.reads):
            _replay(ex, record)
            return
    before, facts = ex.effects(), dict(ex.here.facts)
    outer, outer_renewed = store.reads, ex.renewed
    store.reads, ex.renewed = {}, []
    level = store.open()
    try:
        carry_out(ex, statement)
        done = ex.path
        if done is not None and len(records) < _KEPT and _is_same(done, facts):
            after = ex.effects()
            if after[:-2] == before[:-2]:
                noticed = after[-2] != before[-2], after[-1] != before[-1]
                records.append(Record(store.reads, store.changes(level), tuple(ex.renewed), noticed))
    finally:
        reads, renewed = store.reads, ex.renewed
        store.reads, ex.renewed = outer, outer_renewed
        store.commit(level)
        _tell_outer(ex, reads, renewed)


def _is_same(done: Path, facts: dict[Slot, Facts]) -> bool:
    """Whether no slot's facts have moved: sets of facts are replaced when they change, and not otherwise."""
    now = done.facts
    return len(now) == len(facts) and all(map(is_, map(now.get, facts), facts.values()))


def _replay(ex: Execution, record: Record) -> None:
    for identity in record.renewed:
        ex.renew(identity)
    ex.store.apply(record.writes)
    note_again(ex, record.noticed)
    _tell_outer(ex, record.reads, list(record.renewed))


def note_again(ex: Execution, noticed: tuple[bool, bool]) -> None:
    if noticed[0]:
        gradients.note_loss(ex)
    if noticed[1]:
        gradients.look_at(ex)


def _tell_outer(ex: Execution, reads: Reads | None, renewed: list[int] | None) -> None:
    """Whoever records around this has read and renewed the same."""
    outer = ex.store.reads
    if outer is not None and reads is not None:
        if 3 * len(reads) < len(outer):
            for key, value in reads.items():
                outer.setdefault(key, value)
        else:
            ex.store.reads = reads | outer  # what was read first counts
    if ex.renewed is not None and renewed:
        ex.renewed.extend(renewed)
