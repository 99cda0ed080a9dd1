"""Divided as if it were accumulated, and stepped in the same breath as it is deposited (ZG106).

for batch in loader:
    optimizer.zero_grad()
    (loss(batch) / accumulation_steps).backward()
    optimizer.step()

So it is in a method that is called once per batch, if nobody in its file asks a counter for that number and no other
function deposits; and where the backward stands in one function, and the step in the loop that calls it.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.counters import ACCUMULATION
from zerograd.source.counting.losses import Losses, loss_of
from zerograd.source.lowering.guarded import acts_in, arms_of, taken_at_once
from zerograd.source.lowering.skeleton import Act, Block, Call, Choice, Loop, walk
from zerograd.source.lowering.unfolding import Unfolded
from zerograd.source.names.scopes import Scope
from zerograd.source.text.paths import path_of

_ACTS = (Kind.CONSUME, Kind.CLEAR)


def every_micro_batch(
    block: Block, losses: Losses, configured: str | None, unfolded: Unfolded | None = None
) -> Iterator[Finding]:
    """`configured`: the number that this function's Accelerator is told; `unfolded`: what is called stands in place."""
    if unfolded is None and not configured and not losses.may_divide_by(ACCUMULATION):
        return
    loops = [node for node in walk(block) if isinstance(node, Loop)]
    for body in (loop.body for loop in loops if not _waits(loop)):
        yield from _in_body(body, losses, configured, unfolded)
    if not loops and unfolded is None and losses.scope is not losses.scope.module:
        yield from _in_body(block, losses, None, None, called=True)


def _waits(loop: Loop) -> bool:
    """Whether something in a loop waits for a counter, or for Accelerate: a schedule alone, or a message, does not."""
    asking = [node for node in walk(loop.body) if isinstance(node, Choice) and node.guard is not None]
    guarded = any(act.kind in _ACTS for node in asking for act in acts_in((node,)))
    return guarded or (bool(loop.windows) and not asking) or "accumulate" in loop.windows


def _in_body(
    body: Block, losses: Losses, configured: str | None, unfolded: Unfolded | None, *, called: bool = False
) -> Iterator[Finding]:
    acts = acts_in(body)
    if not any(act.kind is Kind.CLEAR for act in acts):
        return
    taken = [(act, step, arm) for arm in arms_of(body) for act, step in taken_at_once(arm)]
    if len(taken) != sum(act.kind is Kind.DEPOSIT for act in acts) or len({step.slot for _, step, _ in taken}) != 1:
        return  # something is deposited that waits for a step
    for act, step, arm in taken:
        assert isinstance(act.node, ast.Call)
        its = unfolded.losses(act, losses) if unfolded is not None else losses
        by = its.divided_by(loss_of(act.node), ACCUMULATION)
        if (by is None and not configured) or (by is not None and its.is_one(by)):
            continue
        own = divides_itself(act.node, its)
        if by is not None and not own and (arm is body or not its.adds_up(loss_of(act.node))):
            if (called or unfolded is not None) and (arm is not body or _may_wait_elsewhere(by, its, called=called)):
                continue
            why = f"the loss is divided by {by}"
        elif configured and own and arm is body:
            why = f"the Accelerator accumulates over {configured}"
        else:
            continue
        related = (Related(act.site, "adds the gradient of one micro-batch"),)
        yield note(REGISTRY["ZG106"], step.site, certain=True, step=step.what, why=why, related=related)


def _may_wait_elsewhere(size: str, losses: Losses, *, called: bool) -> bool:
    """Whether somebody in the file asks a counter for this number, or counts up to it; or another function deposits,
    and this one is for the last micro-batch of a group."""
    home, last = losses.scope.module.home, re.findall(r"\w+", size) or [""]
    if home is None or re.search(rf"(%|[=<>]=?|range\()\s*[\w.\[\]'\"(]*\b{last[-1]}\b(?!\s*[=(])", home.text):
        return True
    return called and home.text.count("backward(") > 1


def is_split(block: Block, scope: Scope) -> bool:
    """Whether a loop calls what it does not show, the backward or the step, and something here is named for groups."""
    home = scope.module.home
    if home is None or not ("accum" in home.text or "ACCUM" in home.text):
        return False
    for loop in (node for node in walk(block) if isinstance(node, Loop)):
        inside = walk(loop.body)
        kinds = {act.kind for act in inside if isinstance(act, Act)}
        if any(isinstance(node, Call) for node in inside) and len(kinds & {Kind.DEPOSIT, Kind.CONSUME}) == 1:
            return True
    return False


def divides_itself(call: ast.Call, losses: Losses) -> bool:
    """accelerator.backward() and DeepSpeed's engine divide by the number of micro-batches, if they are told of it."""
    receiver = path_of(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if receiver in losses.untold:
        return False
    last = (receiver or "").rpartition(".")[2].lower()
    return bool(call.args) and any(word in last for word in ("accelerator", "engine", "deepspeed"))
