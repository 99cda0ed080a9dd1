"""unscale_() of one optimizer, before a clip and the step of another (ZG201).

scaler.scale(loss_d).backward()
scaler.unscale_(optimizer_g)                  # copied from the generator's part
clip_grad_norm_(netD.parameters(), 1.0)       # still multiplied by the loss scale
scaler.step(optimizer_d)

Whatever the modules are that are clipped: those of the optimizer that steps are still scaled, and those of the one that
was unscaled get more before anybody steps with them. Silent where that one steps before the next backward(), and where
a function of the project is called that may do something to gradients.
"""

from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Blur, Call, walk
from zerograd.source.text.nodes import holds
from zerograd.source.text.stems import is_of
from zerograd.source.values.reading import Reading

_UNSCALED = "this unscales the gradients of {slot}, and {step} consumes others"


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("unscale_"):
        return
    clips, unscales = function.having(Kind.CLIP), function.having(Kind.UNSCALE)
    steps = [act for act in function.having(Kind.CONSUME) if act.scaled] if clips and unscales else []
    if len({act.slot for act in steps}) < 2 or _calls(function):
        return
    for step in steps:
        between = _since_deposit(function, step)
        unscaled = [act for act in between if act.kind is Kind.UNSCALE]
        clipped = [act for act in between if act.kind is Kind.CLIP and not act.scaled]
        if not unscaled or not clipped or any(_may_be_one(act.slot, step.slot) for act in unscaled):
            continue
        if _steps_next(function, step, {act.slot for act in unscaled}):
            continue
        clip = next((act for act in clipped if _is_named_for(act, step.slot or "")), clipped[-1])
        if unscaled[0].site < clip.site and _are_one_path(function, [*unscaled, clip, step]):
            told = _UNSCALED.format(slot=unscaled[0].slot, step=step.what)
            related = (Related(unscaled[0].site, told),)
            found = note(REGISTRY["ZG201"], clip.site, certain=True, related=related, clip=clip.what)
            yield found._replace(cure=f"call unscale_({step.slot}) before you clip")


def _calls(function: Reading) -> bool:
    nodes = walk(function.block)
    called = any(isinstance(node, Call) and function.file.program.body_of(node.function) for node in nodes)
    return called or any(isinstance(node, Blur) and Kind.UNSCALE in node.kinds for node in nodes)


def _since_deposit(function: Reading, step: Act) -> list[Act]:
    """The events between the last scaled backward() and a step; none if another optimizer steps in between."""
    acts = function.acts[: function.acts.index(step)]
    deposits = [place for place, act in enumerate(acts) if act.kind is Kind.DEPOSIT]
    if not deposits or not acts[deposits[-1]].scaled:
        return []
    between = acts[deposits[-1] :]
    return [] if any(act.kind is Kind.CONSUME for act in between) else between


def _may_be_one(one: str | None, other: str | None) -> bool:
    """Whether two names may stand for one optimizer."""
    if one is None or other is None or "[" in one or "[" in other:
        return True
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _steps_next(function: Reading, step: Act, slots: set[str | None]) -> bool:
    """Whether one of these steps before the next backward(), here or where the loop begins anew."""
    acts = function.acts
    loop = function.loop_around(step.node) if step.node is not None else None
    again = [act for act in acts if loop is None or (act.node is not None and holds(loop, act.node))]
    for act in [*acts[acts.index(step) + 1 :], *again]:
        if act.kind is Kind.DEPOSIT:
            return False
        if act.kind is Kind.CONSUME and any(_may_be_one(act.slot, slot) for slot in slots):
            return True
    return True


def _is_named_for(clip: Act, slot: str) -> bool:
    return any(is_of(module, slot) for module in clip.reaches)


def _are_one_path(function: Reading, acts: list[Act]) -> bool:
    """Whether they stand in one loop, and whoever comes to the clip has been at the others and comes to the step."""
    nodes = [act.node for act in acts if act.node is not None]
    *others, clip, step = nodes
    loops = {function.loop_around(node) for node in nodes}
    arms = function.arms(clip)
    return len(nodes) == len(acts) and len(loops) == 1 and all(function.arms(one) <= arms for one in (*others, step))
