"""A guard for groups that holds the clip, and the step behind it for every micro-batch (ZG106).

loss.backward()
if (i + 1) % accumulation_steps == 0:
    clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()                # it has slipped out of the guard, and the clear with it
optimizer.zero_grad()

What is clipped once per group is meant to be stepped once per group. Where a framework may let the step wait by itself,
or the step stands under any guard of a counter, nothing is said.
"""

from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.guarded import acts_in
from zerograd.source.lowering.skeleton import Act, Choice, Loop, walk
from zerograd.source.values.reading import Reading

_CYCLE = frozenset({Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR})
_WAITS = ("accelerat", "deepspeed", "horovod", "engine", "fabric", "backward_passes", "virtual_step")


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("%") or any(map(function.file.says, _WAITS)):
        return
    loops = [node for node in walk(function.block) if isinstance(node, Loop) and not node.windows]
    for loop in loops:
        guards = [node for node in walk(loop.body) if isinstance(node, Choice) and node.guard is not None]
        for choice in guards[:1] if not any(_holds_a_step(node) for node in guards) else ():
            guard = choice.guard
            if guard is None or guard.loop is not loop.node or not guard.accumulates or guard.conjoined:
                continue
            yield from _slipped(loop, choice)


def _holds_a_step(choice: Choice) -> bool:
    return any(act.kind in _CYCLE for act in acts_in((choice,)))


def _slipped(loop: Loop, choice: Choice) -> Iterator[Finding]:
    guard = choice.guard
    clips = [act for act in acts_in((choice,)) if act.kind is Kind.CLIP]
    acts = [act for act in acts_in(loop.body) if act.kind in _CYCLE]
    steps = [act for act in acts if act.kind is Kind.CONSUME]
    if guard is None or not clips or not steps or {act.kind for act in acts} != _CYCLE:
        return
    if any(isinstance(act, Act) and act.kind is Kind.CLIP for act in loop.body):
        return  # another one for every step: the guard's is for something else
    first = steps[0]
    if clips[0].site < first.site and all(act.site < first.site for act in acts if act.kind is Kind.DEPOSIT):
        why = f"clipping waits for {guard.size}"
        related = (Related(clips[0].site, "runs only once per group"),)
        yield note(REGISTRY["ZG106"], first.site, certain=True, step=first.what, why=why, related=related)
