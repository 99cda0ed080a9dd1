"""What may be known about a slot: sets of facts, and `advance` lifted to them.

[Note: the lift] Reading source, a slot may be in several states at one line. The transfer function is the image of
the same `advance`; join is union. A run is the case in which the set has one element, so there is one semantics.

[Note: doubts] "Fires in every state" and "fires in some state" are both wrong for loops: the first iteration of a
loop without zero_grad is innocent. So a fact is (state, doubts): the kinds of event that this path skipped at a
branch which could have run them. A rule says which event is lacking; a finding is certain when that event is not
among the doubts. A doubt dies when it can excuse nothing any more (see `_EXCUSED`).

[Note: weak updates] An event that may or may not have hit this slot keeps the old facts beside the new ones. The old
ones doubt the event; the new ones doubt everything, so that nothing certain is ever said on its strength.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from zerograd.core.events import Event, Kind
from zerograd.core.machine import HOLLOW, START, Mark, State, advance

Doubts = frozenset[Kind]
NO_DOUBT: Doubts = frozenset()
# These cure nothing: no path needs to be excused for skipping them.
ALL_DOUBTS: Doubts = frozenset(Kind) - {
    Kind.SPILL,
    Kind.ABANDON,
    Kind.REDUCE,
    Kind.RESCALE,
}
Assumptions = frozenset[tuple[str, bool]]
NOTHING_ASSUMED: Assumptions = frozenset()


class Fact(NamedTuple):
    """`assumed`: how tests that are asked more than once were answered on this path. Runs need none."""

    state: State = START
    doubts: Doubts = NO_DOUBT
    assumed: Assumptions = NOTHING_ASSUMED


Facts = frozenset[Fact]
NOWHERE: Facts = frozenset()  # no execution gets here
CLEAN: Facts = frozenset({Fact()})  # a slot at the start of a program

# What each event excuses. After a CLEAR, whatever was skipped before it, the slot holds nothing. After a CONSUME it
# holds what was consumed, or nothing: a second step is at fault either way. And a schedule, which asks whether any step
# was ever taken, has its answer: until then a step that was skipped is doubted as SCHEDULE. A DEPOSIT makes good for a
# skipped deposit and closes the question of a skipped step; gradients that are clipped are about to be used. Giving an
# iteration up is a path of its own: what it skips, it skips on purpose.
_EXCUSED: dict[Kind, Doubts] = {
    Kind.CLEAR: ALL_DOUBTS - {Kind.SCHEDULE},
    Kind.CONSUME: ALL_DOUBTS,
    Kind.DEPOSIT: frozenset({Kind.DEPOSIT, Kind.CONSUME}),
    Kind.SPILL: frozenset({Kind.DEPOSIT, Kind.CONSUME}),
    Kind.CLIP: frozenset({Kind.CONSUME, Kind.CLIP}),
    Kind.UNSCALE: frozenset({Kind.UNSCALE}),
    Kind.ABANDON: frozenset({Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR}),
    Kind.REDUCE: NO_DOUBT,
    Kind.RESCALE: NO_DOUBT,
    Kind.SCHEDULE: NO_DOUBT,
}


def follow(fact: Fact, event: Event) -> Fact:
    """The fact after `event`: the state advances, and the doubts that `event` settles are dropped."""
    excused = _EXCUSED[event.kind]
    if event.kind is Kind.CONSUME and fact.state.content in HOLLOW:
        excused -= {Kind.DEPOSIT}  # it found nothing, perhaps because a deposit was skipped: so may the next step
    if event.kind is Kind.UNSCALE and Mark.UNEVEN in fact.state.marks:
        excused = NO_DOUBT  # it divides all alike: whether both kinds of losses lie there is as doubtful as before
    after, doubts = advance(fact.state, event), fact.doubts - excused
    if event.kind is Kind.DEPOSIT and event.scaled and Mark.UNEVEN not in after.marks:
        doubts -= {Kind.UNSCALE}  # whoever may have unscaled has done so before there was anything to unscale
    if Mark.UNEVEN in after.marks and Mark.UNEVEN not in fact.state.marks and Kind.CLEAR in doubts:
        doubts |= {Kind.UNSCALE}  # the clear that was skipped would have kept a scaled loss and a plain one apart
    return Fact(after, doubts, fact.assumed)


def lift(facts: Facts, event: Event) -> Facts:
    """The image of `advance` over a set of facts."""
    return slim([follow(fact, event) for fact in facts])


def lift_weak(facts: Facts, event: Event) -> Facts:
    """`event` may or may not have hit the slot. See [Note: weak updates]."""
    skipped = skipping(frozenset({event.kind}))
    missed = [Fact(state, doubts | skipped, assumed) for state, doubts, assumed in facts]
    hit = [Fact(advance(state, event), ALL_DOUBTS, assumed) for state, _, assumed in facts]
    return slim(missed + hit)


def doubt(facts: Facts, kinds: Doubts) -> Facts:
    """The same facts on a path that skipped events of these kinds."""
    if not kinds:
        return facts
    skipped = skipping(kinds)
    return slim([fact if skipped <= fact[1] else Fact(fact[0], fact[1] | skipped, fact[2]) for fact in facts])


def skipping(kinds: Doubts) -> Doubts:
    """What is doubted on a path that skipped events of these kinds."""
    return kinds | {Kind.SCHEDULE} if Kind.CONSUME in kinds else kinds


def reassume(facts: Facts, known: Callable[[Assumptions], Assumptions]) -> Facts:
    """The same facts, with what `known` makes of the answers of each path: it is asked once for all that share them."""
    answers = {fact[2] for fact in facts}
    told = {assumed: later for assumed in answers if (later := known(assumed)) != assumed}
    if not told:
        return facts
    return slim([Fact(fact[0], fact[1], told[fact[2]]) if fact[2] in told else fact for fact in facts])


def join(one: Facts, other: Facts) -> Facts:
    """What is known where paths meet."""
    if other <= one:  # most paths that meet have nothing to tell each other
        return one
    return slim(one | other) if one else other


def slim(facts: Iterable[Fact]) -> Facts:
    """Of facts that differ only in doubts, the minimal ones: they say all that the others could say."""
    distinct = frozenset(facts)
    if len(distinct) < 2 or len({fact[1] for fact in distinct}) < 2:
        return distinct  # most sets: nothing differs in doubts
    if len({(fact[0], fact[2]) for fact in distinct}) == len(distinct):
        return distinct  # most others: all differ in more than doubts
    alike: dict[tuple[State, Assumptions], list[Fact]] = {}
    for fact in distinct:
        alike.setdefault((fact[0], fact[2]), []).append(fact)
    return frozenset([fact for group in alike.values() for fact in (_minimal(group) if len(group) > 1 else group)])


def _minimal(alike: list[Fact]) -> list[Fact]:
    return [fact for fact in alike if not any(other[1] < fact[1] for other in alike)]
