"""Clips that reach other gradients than the step behind them consumes.

`clip_grad_norm_(policy.parameters())` between `value_loss.backward()` and `value_optimizer.step()`: the step uses what
is not clipped, and what is clipped is cleared before anything steps with it. Or `clip_grad_norm_(teacher.parameters())`
where the teacher is a copy of the student that the optimizer steps, and no optimizer holds it (followers.py).
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Block, Call, blocks_of
from zerograd.source.text.nodes import holds
from zerograd.source.text.paths import path_of
from zerograd.source.values.apart import overlap
from zerograd.source.values.followers import follows
from zerograd.source.values.holdings import held_by
from zerograd.source.values.reading import Reading

_CLEARED = "what has just been cleared, and backward() comes behind it"


def detect(function: Reading) -> Iterator[Finding]:
    clips = function.having(Kind.CLIP)
    yield from (_copied(function, act) for act in clips if _is_of_a_copy(act))
    yield from _of_followers(function)
    if not clips or not function.file.program.has_several:
        return
    yield from _early(function, function.block)
    for position, act in enumerate(function.acts):
        if act.kind is Kind.CLIP:
            module, step = _module_of(act), _step_of_others(function, position)
            if module is not None and step is not None:
                place = f"the gradients of {module}, and {step.what} behind it consumes others"
                yield note(REGISTRY["ZG302"], act.site, certain=True, clip=act.what, place=place)


def _of_followers(function: Reading) -> Iterator[Finding]:
    if not function.file.says("deepcopy(") and not function.file.says("load_state_dict("):
        return
    for position, act in enumerate(function.acts):
        module = _module_of(act) if act.kind is Kind.CLIP else None
        pair = _stands_between(function, position) if module is not None else None
        if module is None or pair is None or function.file.reads_gradients:
            continue
        stepped = held_by(pair[1].slot or "", function)
        others = _clipped_between(function, *pair)
        alone = all(other is not None and not overlap(frozenset({other}), stepped) for other in others)
        if stepped and alone and follows(module, stepped, function):
            place = f"the gradients of {module}, and {pair[1].what} behind it consumes others"
            yield note(REGISTRY["ZG302"], act.site, certain=True, clip=act.what, place=place)


def _copied(function: Reading, clip: Act) -> Finding:
    place = "a tensor without a gradient: .data and detach() give another one"
    return note(REGISTRY["ZG302"], clip.site, certain=True, clip=clip.what, place=place)


def _is_of_a_copy(clip: Act) -> bool:
    """clip_grad_norm_(weight.data, 1.0)"""
    match clip.node:
        case ast.Call(args=[ast.Attribute(value=whole, attr="data"), *_]):
            return path_of(whole) is not None
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="detach"), args=[]), *_]):
            return True
    return False


def _early(function: Reading, block: Block) -> Iterator[Finding]:
    """opt.zero_grad(), a clip, backward(), opt.step(), one right behind the other: the step uses what is unclipped."""
    for clear, clip, deposit, step in zip(block, block[1:], block[2:], block[3:], strict=False):
        match clear, clip, deposit, step:
            case (
                Act(kind=Kind.CLEAR, slot=str() as slot, partial=False),
                Act(kind=Kind.CLIP),
                Act(kind=Kind.DEPOSIT),
                Act(kind=Kind.CONSUME),
            ) if step.slot == slot and (clip.slot == slot or _is_of_all(function, clip, slot)):
                yield note(REGISTRY["ZG302"], clip.site, certain=True, clip=clip.what, place=_CLEARED)
    for node in block:
        for inner in blocks_of(node):
            yield from _early(function, inner)


def _is_of_all(function: Reading, clip: Act, slot: str) -> bool:
    """Whether a clip is of a module that no other optimizer here is known to hold."""
    module = _module_of(clip)
    others = {act.slot or "" for act in function.having(Kind.CONSUME)} - {slot}
    clipped = frozenset({module or ""})
    return module is not None and not any(overlap(held_by(other, function), clipped) for other in others)


def _module_of(act: Act) -> str | None:
    """X of clip_grad_norm_(X.parameters(), 1.0)."""
    match act.node:
        case ast.Call(args=[ast.Call(func=ast.Attribute(value=value, attr="parameters")), *_]):
            return path_of(value)
    return None


def _step_of_others(function: Reading, position: int) -> Act | None:
    """The step behind a clip, if it holds none of what is clipped, and whoever holds it clears before it steps."""
    module, pair = _module_of(function.acts[position]), _stands_between(function, position)
    if module is None or pair is None:
        return None
    _, step = pair
    clipped, stepped = frozenset({module}), held_by(step.slot or "", function)
    owners = {act.slot for act in function.having(Kind.CONSUME) if overlap(held_by(act.slot or "", function), clipped)}
    others = _clipped_between(function, *pair)
    if not stepped or len(owners) != 1 or step.slot in owners or overlap(stepped, clipped):
        return None
    if any(other is None or overlap(frozenset({other}), stepped) for other in others):
        return None
    return step if _is_cleared_first(function, step, owners.pop() or "", clipped) else None


def _stands_between(function: Reading, position: int) -> tuple[Act, Act] | None:
    """The backward before a clip and the step behind it, on one way."""
    acts = function.acts
    before = [act for act in acts[:position] if act.kind is not Kind.CLIP]
    behind = [act for act in acts[position + 1 :] if act.kind is not Kind.CLIP]
    if not before or not behind or before[-1].kind is not Kind.DEPOSIT or behind[0].kind is not Kind.CONSUME:
        return None
    return (before[-1], behind[0]) if _are_one_path(function, before[-1], behind[0]) else None


def _clipped_between(function: Reading, deposit: Act, step: Act) -> list[str | None]:
    acts = function.acts
    return [_module_of(act) for act in acts[acts.index(deposit) : acts.index(step)] if act.kind is Kind.CLIP]


def _are_one_path(function: Reading, deposit: Act, step: Act) -> bool:
    """Whether they stand in one loop and one arm, with no function in between that may do something to gradients."""
    first, last = deposit.node, step.node
    if first is None or last is None or function.loop_around(first) is not function.loop_around(last):
        return False
    return function.arms(first) == function.arms(last) and not any(
        function.file.program.body_of(call.function) for call in function.parts(Call)
    )


def _is_cleared_first(function: Reading, step: Act, owner: str, clipped: frozenset[str]) -> bool:
    """Whether the owner of what was clipped is cleared, or gets more, before it steps: then nothing was clipped. Behind
    the end of a loop, or of a function, it begins anew."""
    assert step.node is not None
    acts, loop = function.acts, function.loop_around(step.node)
    whole = loop or function.node
    around = [act for act in acts if act.node is not None and (whole is function.node or holds(whole, act.node))]
    for act in [*acts[acts.index(step) + 1 :], *around]:
        if act.kind is Kind.CONSUME and act.slot == owner:
            return False
        if act.kind is Kind.DEPOSIT or (
            act.kind is Kind.CLEAR and (act.slot == owner or overlap(act.reaches, clipped))
        ):
            return True
    return False
