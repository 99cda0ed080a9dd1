"""Windows that a counter cuts: a loop that deposits in every iteration, and steps only in the arm of a guard.

A guard that has the backward inside too is no accumulation (policy delay, critic steps).
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.source.counting.counters import Guard
from zerograd.source.lowering.skeleton import Act, Block, Choice, Jump, Loop, blocks_of, leaves, walk, with_rest
from zerograd.source.text.paths import path_of


class Window(NamedTuple):
    """A loop that deposits in every iteration and steps only in the arm of a guard."""

    loop: Loop
    choice: Choice
    guard: Guard
    deposits: list[Act]
    rescales: bool
    clears: bool
    stepped_outside: list[Act]
    stepped_after: bool
    stepped: list[Act]  # under the guard
    inverted: bool = False  # the step is in the other arm: all micro-batches but one step
    shared: bool = False  # another optimizer steps on every micro-batch: this one is slow on purpose


def guarded_windows(block: Block) -> Iterator[Window]:
    """The windows that counters cut, wherever they stand."""
    for position, node in enumerate(block):
        if isinstance(node, Loop):
            after = any(act.kind is Kind.CONSUME for act in acts_in(block[position + 1 :]))
            yield from _windows_of(node, after)
        for inner in blocks_of(node):
            yield from guarded_windows(inner)


def _windows_of(loop: Loop, stepped_after: bool) -> Iterator[Window]:
    loop = loop._replace(body=settled(loop.body))
    for node in walk(loop.body):
        if not isinstance(node, Choice) or node.guard is None or node.guard.loop is not loop.node:
            continue
        yes, no = (node.orelse, node.body) if node.guard.negated else (node.body, node.orelse)
        inside, skipped = acts_in(yes), acts_in(no)
        kinds = {act.kind for act in inside}
        if _is_inverted(node, kinds, {act.kind for act in skipped}, loop):
            yield Window(loop, node, node.guard._replace(phase=None), [], False, True, [], True, [], inverted=True)
        if Kind.CONSUME not in kinds or Kind.DEPOSIT in kinds or any(act.kind is Kind.CONSUME for act in skipped):
            continue
        if any(act.kind is Kind.CONSUME and _has_closure(act) for act in inside):
            continue
        others = (act for one in _alike(loop, node.guard) for act in acts_in((one,)))
        arm = {id(act) for act in (*inside, *skipped, *_other_arms(loop.body, node), *others)}
        outside = [act for act in acts_in(loop.body) if id(act) not in arm]
        deposits = [act for act in outside if act.kind is Kind.DEPOSIT]
        stepped = [act for act in inside if act.kind is Kind.CONSUME]
        slots = {act.slot for act in stepped}
        steps = [act for act in outside if act.kind is Kind.CONSUME and act.slot in slots]
        # A loss that another optimizer steps on at once cannot be divided for the one that waits.
        shared = any(act.kind is Kind.CONSUME for act in outside)
        # Nor does anything add up where every micro-batch is cleared: that is another fault.
        clears_each = any(act.kind is Kind.CLEAR for act in outside)
        rescales = shared or clears_each or any(act.kind is Kind.RESCALE for act in acts_in(loop.body))
        if deposits:
            clears = Kind.CLEAR in kinds
            alone = (deposits, rescales, clears, steps, stepped_after, stepped)
            yield Window(loop, node, node.guard, *alone, shared=shared and not steps)


def _alike(loop: Loop, guard: Guard) -> Iterator[Choice]:
    """Branches that ask the same of the counter, alone or with something else: their steps wait too."""
    for node in walk(loop.body):
        if isinstance(node, Choice) and node.guard is not None and not node.guard.negated:
            yield from [node] if node.guard[:3] == guard[:3] and node.guard.asks == guard.asks else ()


def settled(block: Block) -> Block:
    """The block with what follows `if (i + 1) % N != 0: continue` as the other arm of that branch."""
    for position, node in enumerate(block):
        if isinstance(node, Choice) and node.guard is not None and leaves(node.body) != leaves(node.orelse):
            away = node.body if leaves(node.body) else node.orelse
            if away[-1] == Jump("continue"):
                return (*block[:position], with_rest(node, settled(block[position + 1 :])))
    return block


def _has_closure(step: Act) -> bool:
    """optimizer.step(closure): it deposits by itself."""
    given = (
        [*step.node.args, *(keyword.value for keyword in step.node.keywords)] if isinstance(step.node, ast.Call) else []
    )
    return any("closure" in (path_of(one) or "") or isinstance(one, ast.Lambda) for one in given)


def _other_arms(block: Block, target: Choice) -> list[Act]:
    """What cannot run in an iteration that comes to `target`: the other arms of the branches around it."""
    for node in block:
        if node is target:
            return []
        match node:
            case Choice(body, orelse):
                for arm, other in ((body, orelse), (orelse, body)):
                    if any(inner is target for inner in walk(arm)):
                        return acts_in(other) + _other_arms(arm, target)
        for inner in blocks_of(node):
            if any(other is target for other in walk(inner)):
                return _other_arms(inner, target)
    return []


def _is_inverted(choice: Choice, yes: set[Kind], no: set[Kind], loop: Loop) -> bool:
    """`if i % N == 0: backward  else: backward, step`, or the same with one backward before it: it steps on every
    micro-batch but each N-th."""
    guard = choice.guard
    if guard is None or not guard.accumulates or guard.tail:
        return False
    if Kind.CONSUME not in no or Kind.CONSUME in yes:
        return False
    if Kind.DEPOSIT in yes | no:
        return Kind.DEPOSIT in yes & no
    inside = {id(act) for act in acts_in((choice,))}
    outside = {act.kind for act in acts_in(loop.body) if id(act) not in inside}
    return Kind.DEPOSIT in outside and Kind.CONSUME not in outside and not guard.conjoined


def acts_in(block: Block) -> list[Act]:
    return [node for node in walk(block) if isinstance(node, Act)]


def arms_of(block: Block) -> Iterator[Block]:
    """A block, and those inside it that one pass of it may take."""
    yield block
    for node in block:
        if not isinstance(node, Loop):
            for inner in blocks_of(node):
                yield from arms_of(inner)


def taken_at_once(block: Block) -> Iterator[tuple[Act, Act]]:
    """Each deposit of a block with the step that takes it, in the same block and in any case."""
    for position, act in enumerate(block):
        if isinstance(act, Act) and act.kind is Kind.DEPOSIT and isinstance(act.node, ast.Call):
            behind = block[position + 1 :]
            step = next((one for one in behind if isinstance(one, Act) and one.kind is Kind.CONSUME), None)
            if step is not None and not _waits(block, step):
                yield act, step


def _waits(block: Block, step: Act) -> bool:
    """Whether the way from a backward to the step may be left: `if not complete: continue`."""
    before = block[: block.index(step)]
    first = next(
        (i for i, node in enumerate(before) if isinstance(node, Act) and node.kind is Kind.DEPOSIT), len(before)
    )
    return any(isinstance(node, Choice) and (leaves(node.body) or leaves(node.orelse)) for node in before[first:])
