"""One event at one slot: which facts it moves and how, and what is judged on the way.

[Note: unattributed deposits] `loss.backward()` does not say whose gradients it fills. It is read as a deposit into
every slot. That is safe, because faults are judged when a step consumes: on an empty slot it silences ZG003; on a spent
one, a step with no clear in between is at fault whether the deposit reached it (stale) or not (repeated).
"""

import ast
from collections.abc import Callable

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import (
    ALL_DOUBTS,
    NOTHING_ASSUMED,
    Assumptions,
    Doubts,
    Fact,
    Facts,
    join,
    lift,
    lift_weak,
    slim,
)
from zerograd.core.findings import Related
from zerograd.core.judgement import Code, Trail, Verdict, judge
from zerograd.core.machine import State, advance, is_just_deposited
from zerograd.rules.rule import Rule
from zerograd.source.counting.tests import Atom, Test
from zerograd.source.lowering.skeleton import Act, Block, Loop
from zerograd.source.text.wording import is_talk
from zerograd.source.walking import unclaimed
from zerograd.source.walking.excuses import Excuses
from zerograd.source.walking.frames import Frames
from zerograd.source.walking.objectives import Owned
from zerograd.source.walking.states import Met, States
from zerograd.source.walking.windows import Round, is_inside, is_regular

# Clips, rescaling and schedules name no optimizer: beside a second one nobody can say whose they are, unless a caller
# knows whose the module is that is clipped.
_PRIVATE = frozenset({Kind.CLIP, Kind.RESCALE, Kind.SCHEDULE})
_SHARED = frozenset({Kind.CLIP, Kind.SCHEDULE})  # of these it is asked whether they are at fault for all of them
Report = Callable[[Verdict[Rule]], None]


class Actor:
    """`alone`: the slot is the only one there is, so that whatever is cleared is its own."""

    def __init__(
        self, slot: str, *, alone: bool, laws: Code[Rule], report: Report, frames: Frames, owned: Owned
    ) -> None:
        self._slot, self._alone = slot, alone
        self._code, self._report = laws, report
        self._frames, self._owned = frames, owned
        self._loops: list[Doubts] = []  # what the loops we are in may do
        self._windows: list[Loop] = []
        self._rounds: dict[tuple[int, int], Round] = {}
        self._turning: list[Round] = []  # the loops we are in that counters cut into windows
        self._at: Assumptions = NOTHING_ASSUMED  # where in their windows the functions stand that have called this one
        self._met: dict[tuple[int, int], Met | None] = {}
        self._followed: set[tuple[State, int]] = set()
        self.trail = Trail(latest=False)
        self.unclaimed: list[unclaimed.Met] = []  # the verdicts on what names no optimizer

    def met(self, act: Act) -> Met | None:
        """How an event meets the slot; None: it does not."""
        key = (id(act), self._frames.here)
        if key not in self._met:
            self._met[key] = self._meet(act)
        return self._met[key]

    def _meet(self, act: Act) -> Met | None:
        touches = self._frames.touches(act)
        # The only optimizer there is, and a module that is not known to be its own: it may be, by another name.
        unproven = touches is False and act.of_module and self._alone
        nobodys = (
            act.slot is None and act.kind in _PRIVATE and not self._alone and not self._frames.modules & act.reaches
        )
        if (touches is False and not unproven) or (nobodys and act.kind not in _SHARED):
            return None
        # What is only supposed to be the slot's says nothing of clears, and nothing in a function that was called.
        modules = self._frames.modules or (self._owned.supposed if self._frames.is_outermost else frozenset[str]())
        kind = Kind.SPILL if self._owned.is_foreign(act, modules) else act.kind
        unclear = touches is None or (act.slot is None and act.kind not in (Kind.DEPOSIT, Kind.CLIP))
        return Met(
            Event(kind, self._slot, act.site, act.scaled, act.what),
            weak=act.partial or unproven or (unclear and not self._alone and not nobodys),
            strikes=isinstance(act.node, ast.ExceptHandler),
            unproven=self._owned.may_be_foreign(act),
            unclaimed=nobodys,
        )

    def kinds(self, block: Block, *, seen: bool = False) -> Doubts:
        """The kinds of event that `block` may do to the slot."""
        return self._frames.kinds(block, seen=seen)

    def skipped(self, arm: Block, other: Block, denied: Test | None = None) -> Doubts:
        """The doubts one earns by taking `arm` and not `other`, because `denied` is not so. Where it only asks whether
        people want to be told something, training must not hang on it: what is skipped is not there."""
        missed = self._frames.skipped(arm, other)
        talks = Kind.DEPOSIT in missed and isinstance(denied, Atom) and is_talk(denied.key)
        return missed - {Kind.DEPOSIT} if talks else missed

    def may_fault(self, block: Block, *, again: bool) -> bool:
        """False only if no way through `block` comes to a verdict; `again`: it runs any number of times."""
        return States(self._frames, self.met, self._code).may_break(block, again=again)

    def excuse(self, block: Block, verdict: Verdict[Rule], entered_at: Site | None) -> Related | None:
        """Why a verdict is only possible."""
        lacking, site = verdict.law.lacks(verdict.state, verdict.event), verdict.event.site
        if lacking is None or site is None:
            return None
        return Excuses(lacking, site, self._frames).nearest(block, entered_at)

    def act(self, act: Act, facts: Facts) -> Facts:
        met = self.met(act)
        if met is None:
            return facts
        event, weak = met.event, met.weak
        if act.kind is not Kind.SCHEDULE or (self._loops and Kind.CONSUME in self._loops[-1]):
            for verdict in judge(facts, event, self._code, weak=weak):
                self._tell(verdict, act, met)
        if met.unclaimed:
            return facts
        if act.kind is Kind.CLEAR and not weak:
            self._clear_inside_window(facts, event, act)
        for state in {fact[0] for fact in facts}:
            if (state, id(act)) not in self._followed:
                self._followed.add((state, id(act)))
                self.trail.follow(state, event)
        if met.unproven:
            return join(lift(facts, event), self._spilled(facts, event))
        if met.strikes and not weak:
            return self._struck(facts, event)
        return lift_weak(facts, event) if weak else lift(facts, event)

    def _tell(self, verdict: Verdict[Rule], act: Act, met: Met) -> None:
        if not met.unclaimed:
            self._report(verdict)
        elif not any(loop.windows for loop in self._windows):  # the turns of a window may be those of its optimizers
            self.unclaimed.append((id(act), self._frames.through, verdict))

    def _struck(self, facts: Facts, event: Event) -> Facts:
        """An exception struck, nobody knows where. That it can strike in a backward() is sure, and only that."""
        broken = frozenset(fact for fact in facts if self._loops and is_just_deposited(fact.state))
        return join(lift(broken, event), lift_weak(facts - broken, event))

    def _spilled(self, facts: Facts, event: Event) -> Facts:
        """What is known if a deposit came from another objective, which nobody can prove: all of it is doubted."""
        spill = event._replace(kind=Kind.SPILL)
        for state in {fact.state for fact in facts}:
            self.trail.follow(state, spill)
        return slim([Fact(advance(state, spill), ALL_DOUBTS, assumed) for state, _, assumed in facts])

    def _clear_inside_window(self, facts: Facts, event: Event, act: Act) -> None:
        """A clear that erases the micro-batches before it, in a loop that steps once per window."""
        if not self._turning:
            return
        midway = event._replace(midway=True)
        at_fault = [fact for fact in facts if self._code.broken(fact.state, midway)]
        for one in self._turning if at_fault else ():
            for size in one.loop.windows if one.steps_once else ():
                inside = frozenset(fact for fact in at_fault if is_inside(one, size, fact.assumed | self._at, act))
                weak = one.may_leave or (bool(inside) and not is_regular(one.body, size, act))
                for verdict in judge(inside, midway, self._code, weak=weak):
                    self._report(verdict)

    def turn_into(self, loop: Loop, does: Doubts) -> None:
        """Be in a loop that may do events of these kinds."""
        self._loops.append(does)
        self._windows.append(loop)
        if not loop.windows:
            return
        key = (id(loop), self._frames.here)
        if key not in self._rounds:
            self._rounds[key] = Round.of(loop, self._frames)
        self._turning.append(self._rounds[key])

    def turn_out_of(self, loop: Loop) -> None:
        self._loops.pop()
        self._windows.pop()
        if loop.windows:
            self._turning.pop()
