"""Whether a slot can come to a fault at all: asked before the ways through a block are walked.

Most functions clear, deposit and step in one row, and nothing leads out of its middle. Whichever rows run, how often
and in what order: where no row is at fault in a state that rows leave behind, no way through them is. Every state that
a way may come to is among these; doubts and answers only tell ways apart.
"""

from collections.abc import Callable
from typing import NamedTuple

from zerograd.core.events import Event, Kind
from zerograd.core.judgement import Code
from zerograd.core.machine import START, State, advance
from zerograd.rules.rule import Rule
from zerograd.source.lowering.skeleton import (
    Act,
    Attempt,
    Block,
    Call,
    Choice,
    Create,
    Jump,
    Loop,
    blocks_of,
    refuses,
)
from zerograd.source.names.scopes import Function
from zerograd.source.walking.frames import Frames


class Met(NamedTuple):
    """An event in the text as it meets the slot, in the function that we are in."""

    event: Event
    weak: bool  # it may be for others. See [Note: weak updates]
    strikes: bool = False  # an exception, nobody knows where
    unproven: bool = False  # a deposit that may be another objective's
    unclaimed: bool = False  # it names none of several slots: it is judged as ours, and moves nothing


_Row = list[Met]


class Rows:
    """The events of a block and of what it calls, in rows that run as a whole. `met`: how one meets the slot."""

    def __init__(self, block: Block, frames: Frames, met: Callable[[Act], Met | None]) -> None:
        self._frames, self._met = frames, met
        self._rows: list[_Row] = []
        self._has_windows = False
        self._is_whole = True
        self._entered: set[tuple[Function, int, bool]] = set()
        self._read(block, torn=False)

    def may_break(self, laws: Code[Rule]) -> bool:
        """False only if no way through the rows breaks a law."""
        if not self._is_whole:
            return True
        known: set[State] = set()
        new = {START}
        while new:
            known |= new
            left: set[State] = set()
            for row in self._rows:
                behind = self._behind(row, new, laws)
                if behind is None:
                    return True
                left |= behind
            new = left - known
        return False

    def _read(self, block: Block, *, torn: bool) -> None:
        """`torn`: inside a try, where an exception may strike behind each event."""
        row: _Row = []
        for node in block:
            if isinstance(node, Act):
                met = self._met(node)
                row += [met] if met is not None else []
                ends = torn
            elif isinstance(node, Choice | Loop | Attempt):
                ends = not self._frames.is_idle(node) and (torn or not refuses(node))
                self._has_windows = self._has_windows or (isinstance(node, Loop) and bool(node.windows))
                for inner in blocks_of(node) if ends else ():
                    self._read(inner, torn=torn or isinstance(node, Attempt))
            elif isinstance(node, Call):
                ends = self._enter(node, torn=torn)
            else:
                ends = isinstance(node, Create | Jump)  # the others move no state
            if ends and row:
                self._rows.append(row)
                row = []
        self._rows += [row] if row else []

    def _enter(self, call: Call, *, torn: bool) -> bool:
        """Whether what a call runs meets the slot: its rows are read, those of one function once."""
        run = self._frames.run_by(call)
        if self._frames.is_closed(run):
            self._is_whole = self._is_whole and run.function.is_abstract  # another chain of calls may look into it
            return False
        if not self._frames.kinds_of_call(call):
            return False
        self._frames.enter(run)
        key = (run.function, self._frames.here, torn)
        if key not in self._entered:
            self._entered.add(key)
            self._read(self._frames.body_of(run.function), torn=torn)
        self._frames.leave()
        return True

    def _behind(self, row: _Row, states: set[State], laws: Code[Rule]) -> set[State] | None:
        """The states that a row leads to from these; None: it may break a law on its way."""
        for event, weak, strikes, unproven, unclaimed in row:
            if unproven or any(laws.broken(state, event) for state in states):
                return None
            if self._has_windows and event.kind is Kind.CLEAR:
                midway = event._replace(midway=True)
                if any(laws.broken(state, midway) for state in states):
                    return None
            if unclaimed:
                continue
            moved = {advance(state, event) for state in states}
            states = states | moved if weak or strikes else moved
        return states
