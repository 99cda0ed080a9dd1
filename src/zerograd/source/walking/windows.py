"""The place in a loop, and in an accumulation window, as answers to questions: is this its first iteration? And is this
the window's first micro-batch, its last?

A guard such as `(i + 1) % N == 0` asks for the last. So a loop that a counter cuts into windows begins at the first;
behind the last comes a first again; behind any other, a last or one in the middle. N is taken to be at least 2: with 1
there is nothing to accumulate, and nothing to say.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.facts import Assumptions, Doubts, Fact, Facts, doubt, reassume, slim
from zerograd.source.counting.counters import start_key
from zerograd.source.counting.tests import All, Atom, Not, Some, Test, decide
from zerograd.source.lowering.skeleton import Act, Block, Choice, Loop, Node, walk
from zerograd.source.walking.frames import Frames
from zerograd.source.walking.guarded import settled
from zerograd.source.walking.unfolding import Unfolded

_UPDATE = frozenset({Kind.DEPOSIT, Kind.CONSUME})


class Round(NamedTuple):
    """A loop that a counter cuts into windows, with what it calls put in its place, as one slot sees it."""

    loop: Loop
    body: Block
    steps_once: bool  # every step of the slot waits for a guard, and the guard for nothing but the window
    may_leave: bool  # a function that is called may end early: what is behind it need not run

    @staticmethod
    def of(loop: Loop, frames: Frames) -> "Round":
        unfolded = Unfolded(loop.body, frames.cls, frames.body_of)
        body = settled(unfolded.block)
        return Round(loop, body, _steps_once(loop, body, frames) and unfolded.is_whole, unfolded.may_leave)


def begin(loop: Loop, facts: Facts) -> Facts:
    """Enter the loop: its first iteration, and the first micro-batch of a window."""
    facts = _started(loop, facts, first=True)
    for size in loop.windows:
        facts = reassume(facts, partial(_placed, names=_names(loop, size), first=True, last=False))
    return facts


def turn(loop: Loop, facts: Facts) -> Facts:
    """From one iteration to the next."""
    facts = _started(loop, facts, first=False)
    for size in loop.windows:
        names = _names(loop, size)
        later = {assumed: _next(assumed, names) for assumed in {fact[2] for fact in facts}}
        facts = slim([Fact(state, doubts, known) for state, doubts, assumed in facts for known in later[assumed]])
    return facts


def left(loop: Loop, facts: Facts, kinds: Doubts, frames: Frames) -> Facts:
    """Out of the loop, which may end in the middle of a window: what was to happen at its end may have been skipped,
    and a step that flushes the rest may find something or nothing."""
    facts = _started(loop, facts, first=None)
    if not loop.windows and Kind.CONSUME in kinds and any(_waits(node, frames) for node in loop.body):
        facts = doubt(facts, kinds)
    for size in loop.windows:
        facts = reassume(doubt(facts, kinds), partial(_elsewhere, names=_names(loop, size)))
    return facts


def _waits(node: Node, frames: Frames) -> bool:
    """Whether a counter decides about a step, though nobody can say where in its window the loop is."""
    return isinstance(node, Choice) and node.guard is not None and Kind.CONSUME in frames.kinds(node.body)


def is_inside(round_: Round, size: str, assumed: Assumptions, act: Act) -> bool:
    """Whether the window has begun and goes on behind `act`: a clear at its very end gives the group up, on purpose."""
    if (_key("first", round_.loop, size), False) not in assumed:
        return False
    return (_key("last", round_.loop, size), False) in assumed or _deposits_beyond(round_.body, act)


def is_regular(block: Block, size: str, act: Act) -> bool:
    """Whether `act` comes with every micro-batch, or with a place in the window of this size: not with an occasion of
    its own, such as a validation or a loss that is broken. A branch that deposits too is a way to train, unless all
    that it deposits is cleared by `act`: it was to probe something; or the other way deposits and does not clear: this
    one may be for the first of a group."""
    for node in block:
        if not isinstance(node, Choice) or not _holds((node,), act):
            continue
        arm, other = node.body, node.orelse
        if not _holds(arm, act):
            arm, other = other, arm
        both = _deposits_in(arm) and _deposits_in(other)
        trains = (_deposits_beyond(arm, act) or both) and (not both or _clears_in(other))
        return (trains or decide_place(node.test, size)) and is_regular(arm, size, act)
    return True


def _holds(block: Block, act: Act) -> bool:
    return any(_is_it(node, act) for node in walk(block))


def _is_it(node: Node, act: Act) -> bool:
    """Whether a node is `act`, which may have another name for its slot where it is called."""
    return isinstance(node, Act) and node.site == act.site and node.kind is act.kind


def _clears_in(block: Block) -> bool:
    return any(isinstance(node, Act) and node.kind is Kind.CLEAR for node in walk(block))


def _deposits_in(block: Block) -> bool:
    return any(isinstance(node, Act) and node.kind is Kind.DEPOSIT for node in walk(block))


def _deposits_beyond(block: Block, act: Act) -> bool:
    """Whether a block deposits behind `act`."""
    nodes = list(walk(block))
    here = next((position for position, node in enumerate(nodes) if _is_it(node, act)), len(nodes))
    return any(isinstance(node, Act) and node.kind is Kind.DEPOSIT for node in nodes[here:])


def _steps_once(loop: Loop, body: Block, frames: Frames) -> bool:
    kinds, hits = frames.kinds, frames.hits
    turns = [_turn(node) for node in walk(body) if isinstance(node, Choice) and decide_place(node.test)]
    # Where the guard is asked before a deposit as well, that is another objective's turn (n_critic, policy delay), and
    # so is what it is asked for behind.
    others = {asked for asked, arm, other in turns if Kind.DEPOSIT in kinds(arm) and Kind.DEPOSIT not in kinds(other)}
    # An arm with a deposit of its own accumulates nothing. Nor does one beside which another steps: two optimizers take
    # turns.
    arms = [
        arm
        for asked, arm, other in turns
        if asked not in others and Kind.DEPOSIT not in kinds(arm) and not _steps(other)
    ]
    waiting = {id(act) for arm in arms for act in walk(arm)}
    waiting |= {id(act) for size in loop.windows for arm in _without(body, size) for act in walk(arm)}
    waiting |= {id(act) for arm in _other_ways(body, frames) for act in walk(arm)}
    every = [act for act in walk(body) if isinstance(act, Act) and act.kind is Kind.CONSUME]
    steps = [act for act in every if hits(act.slot)]
    # Where another optimizer steps with every micro-batch, this one is slow on purpose.
    shared = any(id(step) not in waiting for step in every if not hits(step.slot))
    return bool(steps) and not shared and all(id(step) in waiting for step in steps)


def _turn(node: Choice) -> tuple[Test | None, Block, Block]:
    """What is asked, what is done at that place in the window, and what at all others."""
    if isinstance(node.test, Not):
        return node.test.test, node.orelse, node.body
    return node.test, node.body, node.orelse


def _steps(block: Block) -> bool:
    return any(isinstance(act, Act) and act.kind is Kind.CONSUME for act in walk(block))


def _other_ways(body: Block, frames: Frames) -> Iterator[Block]:
    """Arms that deposit and step, beside one that deposits and waits: a setting chooses between two ways to train."""
    for node in walk(body):
        if isinstance(node, Choice) and not decide_place(node.test):
            for arm, other in ((node.body, node.orelse), (node.orelse, node.body)):
                waits = any(isinstance(inner, Choice) and decide_place(inner.test) for inner in walk(other))
                if waits and Kind.DEPOSIT in frames.kinds(other) and frames.kinds(arm) >= _UPDATE:
                    yield arm


def _without(body: Block, size: str) -> Iterator[Block]:
    """What is done where nothing is accumulated: `if not N: optimizer.step()`."""
    several = frozenset({(size, True), (f"{size} >= 2", True), (f"{size} is None", False)})
    for node in walk(body):
        answer = decide(node.test, several) if isinstance(node, Choice) else None
        if isinstance(node, Choice) and answer is not None:
            yield node.orelse if answer else node.body


def decide_place(test: Test | None, size: str = "") -> bool:
    """Whether a test asks for the place in a window, of this size if one is given."""
    match test:
        case Atom(key):
            return key.startswith(("first@", "last@", "start@")) and (not size or key.endswith(f"%{size}"))
        case Not(inner):
            return decide_place(inner, size)
        case All(tests) | Some(tests):
            return any(decide_place(one, size) for one in tests)
    return False


def _started(loop: Loop, facts: Facts, *, first: bool | None) -> Facts:
    """Whether this is the loop's first iteration; None: outside it nobody asks."""
    if not loop.begun or loop.node is None:
        return facts
    key = start_key(loop.node)
    told: Assumptions = frozenset() if first is None else frozenset({(key, first)})
    return reassume(facts, lambda assumed: _elsewhere(assumed, (key,)) | told)


def _key(place: str, loop: Loop, size: str) -> str:
    return f"{place}@{id(loop.node)}%{size}"


def _names(loop: Loop, size: str) -> tuple[str, str]:
    return _key("first", loop, size), _key("last", loop, size)


def _elsewhere(assumed: Assumptions, names: tuple[str, ...]) -> Assumptions:
    return frozenset([known for known in assumed if known[0] not in names])


def _placed(assumed: Assumptions, names: tuple[str, str], *, first: bool, last: bool) -> Assumptions:
    return _elsewhere(assumed, names) | {(names[0], first), (names[1], last)}


def _next(assumed: Assumptions, names: tuple[str, str]) -> list[Assumptions]:
    if (names[1], True) in assumed:
        return [_placed(assumed, names, first=True, last=False)]
    return [_placed(assumed, names, first=False, last=last) for last in (False, True)]
