"""Whether a slot can come to a fault at all: asked before the ways through a block are walked with all that is known.

Here they are walked with bare states. Every branch is taken both ways, and nothing is doubted: whatever state the slot
is in where the interpreter meets an event, it is in here, too. Where no event is a fault in any of these, none is a
fault there. Most functions are done with by that, for a fraction of what facts cost.
"""

from collections.abc import Callable
from typing import NamedTuple

from zerograd.core.events import Event, Kind
from zerograd.core.judgement import Code
from zerograd.core.machine import START, State, advance
from zerograd.rules.rule import Rule
from zerograd.source.lowering.skeleton import Act, Attempt, Block, Call, Choice, Create, Jump, Loop, refuses
from zerograd.source.walking.frames import Frames

_States = frozenset[State]
_NOWHERE: _States = frozenset()
_BEGUN: _States = frozenset({START})
_INNER = (Choice, Loop, Attempt)
_MOST = 4_000  # blocks that are gone through: what is more of a tangle is left to who counts its facts


class Met(NamedTuple):
    """An event in the text as it meets the slot, in the function that we are in."""

    event: Event
    weak: bool  # it may be for others. See [Note: weak updates]
    strikes: bool = False  # an exception, nobody knows where
    unproven: bool = False  # a deposit that may be another objective's
    unclaimed: bool = False  # it names none of several slots: it is judged as ours, and moves nothing


class _Left:
    """The states with which a block is left before its end, by the way."""

    def __init__(self) -> None:
        self.by: dict[str, _States] = {}

    def add(self, way: str, states: _States) -> None:
        self.by[way] = self.by.get(way, _NOWHERE) | states

    def through(self, way: str) -> _States:
        return self.by.get(way, _NOWHERE)


class _MayBreak(Exception):
    """An event is a fault in one of the states; or it would take too long to say that none is."""


class States:
    """The states that one slot may be in. `met`: how an event meets it."""

    def __init__(self, frames: Frames, met: Callable[[Act], Met | None], laws: Code[Rule]) -> None:
        self._frames, self._met, self._laws = frames, met, laws
        self._returned: dict[tuple[object, ...], tuple[_States, _States]] = {}
        self._trying = False
        self._steps = False  # whether the loop we are in steps
        self._turns = False  # whether a counter cuts a loop that we are in into windows
        self._walked = 0

    def may_break(self, block: Block, *, again: bool) -> bool:
        """False only if no way through a block breaks a law; `again`: it runs any number of times."""
        seen = new = _BEGUN
        try:
            while new:
                left = _Left()
                ended = self._block(block, new, left) | left.through("return")
                new = ended - seen if again else _NOWHERE
                seen |= new
        except _MayBreak:
            return True
        return False

    def _block(self, block: Block, states: _States, left: _Left) -> _States:
        """The states at its end."""
        self._walked += 1
        if self._walked > _MOST:
            raise _MayBreak
        for node in block:
            if not states:
                break
            before = states
            if isinstance(node, Act):
                states = self._behind(node, states)
            elif isinstance(node, _INNER):
                states = states if self._frames.is_idle(node) else self._inside(node, states, left)
            elif isinstance(node, Call):
                states = self._called(node, states, left)
            elif isinstance(node, Jump):
                left.add(node.to, states)
                return _NOWHERE
            elif isinstance(node, Create) and node.slot in self._frames.names:
                states = _BEGUN
            if self._trying:  # an exception may strike before each or behind it
                left.add("raise", before | states)
        return states

    def _inside(self, node: Choice | Loop | Attempt, states: _States, left: _Left) -> _States:
        if isinstance(node, Loop):
            return self._loop(node, states, left)
        if isinstance(node, Attempt):
            return self._attempt(node, states, left)
        if refuses(node) and not self._trying:
            return states
        return self._block(node.body, states, left) | self._block(node.orelse, states, left)

    def _loop(self, loop: Loop, states: _States, left: _Left) -> _States:
        inner = _Left()
        if self._frames.is_one_of(loop.each):
            behind = self._block(loop.body, states, inner) | inner.through("continue")
        else:
            behind = self._rounds(loop, states, inner) | (_NOWHERE if loop.runs else states)
        for way in ("return", "raise"):
            left.add(way, inner.through(way))
        return self._block(loop.orelse, _NOWHERE if loop.endless else behind, left) | inner.through("break")

    def _rounds(self, loop: Loop, states: _States, left: _Left) -> _States:
        """The states behind each round of a loop, until there are no new ones."""
        steps, turns = self._steps, self._turns
        # One that does not step may be a part of the one around it: for scheduler in schedulers
        self._steps = steps or Kind.CONSUME in self._frames.kinds(loop.body)
        self._turns = turns or bool(loop.windows)
        behind, new = _NOWHERE, states
        while new:
            came = self._block(loop.body, new, left) | left.through("continue")
            behind, new = behind | came, came - behind - states
        self._steps, self._turns = steps, turns
        return behind

    def _attempt(self, attempt: Attempt, states: _States, left: _Left) -> _States:
        outer, inner = self._trying, _Left()
        self._trying = True
        tried = self._block(attempt.body, states, inner)
        self._trying = outer
        caught = states | inner.by.pop("raise", _NOWHERE)
        behind = self._block(attempt.orelse, tried, inner)
        for handler in attempt.handlers:
            behind |= self._block(handler, caught, inner)
        if not attempt.catches_all:
            inner.add("raise", caught)
        for way, some in inner.by.items():
            left.add(way, self._block(attempt.final, some, left))
        return self._block(attempt.final, behind, left)

    def _called(self, call: Call, states: _States, left: _Left) -> _States:
        frames, run = self._frames, self._frames.run_by(call)
        if frames.is_closed(run):
            if not run.function.is_abstract:  # another chain of calls may look into it
                raise _MayBreak
            return states
        if not frames.kinds_of_call(call):
            return states
        frames.enter(run)
        try:
            ended, raised = self._run(run, states)
        finally:
            frames.leave()
        if self._trying:
            left.add("raise", raised)
        return ended

    def _run(self, call: Call, states: _States) -> tuple[_States, _States]:
        """The states where a function ends, and where an exception leaves it."""
        key = (call.function, self._frames.here, self._trying, self._steps, self._turns, states)
        if key not in self._returned:
            inner = _Left()
            ended = self._block(self._frames.body_of(call.function), states, inner) | inner.through("return")
            self._returned[key] = ended, inner.through("raise")
        return self._returned[key]

    def _behind(self, act: Act, states: _States) -> _States:
        met = self._met(act)
        if met is None or (act.kind is Kind.SCHEDULE and not self._steps):
            return states
        event, weak, strikes, unproven, unclaimed = met
        self._judge(event, states)
        if unclaimed:
            return states
        if self._turns and act.kind is Kind.CLEAR and not weak:
            self._judge(event._replace(midway=True), states)
        moved = frozenset([advance(state, event) for state in states])
        if unproven:
            spilled = event._replace(kind=Kind.SPILL)
            return moved.union([advance(state, spilled) for state in states])
        return states | moved if weak or strikes else moved

    def _judge(self, event: Event, states: _States) -> None:
        for state in states:
            if self._laws.broken(state, event):
                raise _MayBreak
