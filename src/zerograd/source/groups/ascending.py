"""Sharpness-aware steps at the end of a group: the way down is that of the last micro-batch alone (ZG002).

for i, batch in enumerate(loader):
    (loss(batch) / N).backward()
    if (i + 1) % N == 0:
        optimizer.first_step(zero_grad=True)    # what all of them deposited serves to climb, and is cleared
        (loss(batch) / N).backward()            # one of N
        optimizer.second_step(zero_grad=True)

Where micro-batches are kept, the second backward() may be of all of them, and nothing is lost.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import erased
from zerograd.source.lowering.skeleton import Act, Block, Choice, Loop
from zerograd.source.text.nodes import below
from zerograd.source.values.reading import Reading
from zerograd.source.walking.guarded import acts_in


def detect(function: Reading) -> Iterator[Finding]:
    if not any(choice.guard for choice in function.parts(Choice)) or not function.file.says("first_step"):
        return
    for loop in (one for one in function.parts(Loop) if one.node is not None):
        for choice in (node for node in loop.body if isinstance(node, Choice)):
            guard = choice.guard
            if guard is None or not guard.accumulates or guard.loop is not loop.node or guard.negated:
                continue
            before = acts_in(loop.body[: loop.body.index(choice)])
            climb = _climb(choice.body)
            first = next((act for act in before if act.kind is Kind.DEPOSIT), None)
            if climb is not None and first is not None and not _keeps(loop.node):
                related = (Related(first.site, "every micro-batch is deposited here"),)
                yield erased(REGISTRY["ZG002"], climb.site, climb.what, related)


def _keeps(loop: ast.AST | None) -> bool:
    """kept.append(batch)"""
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return True  # nobody knows what a batch is called
    batch = {part.id for part in below(loop.target) if isinstance(part, ast.Name)}
    calls = [node for node in below(loop) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    given = [
        one for call in calls if getattr(call.func, "attr", "") in ("append", "extend", "put") for one in call.args
    ]
    return any(isinstance(part, ast.Name) and part.id in batch for one in given for part in below(one))


def _climb(block: Block) -> Act | None:
    """The clear of a first step, if one backward() and no loop comes behind it."""
    if any(isinstance(node, Loop) for node in block):
        return None
    acts = acts_in(block)
    for position, act in enumerate(acts):
        if act.kind is Kind.CLEAR and _is_first(act) and any(one.kind is Kind.DEPOSIT for one in acts[position:]):
            return act
    return None


def _is_first(act: Act) -> bool:
    match act.node:
        case ast.Call(func=ast.Attribute(attr="first_step")):
            return True
    return False
