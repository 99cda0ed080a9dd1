"""Losses that are summed over a group and deposited at its end, by a guard that is true at its beginning (ZG103).

total = 0
for i, batch in enumerate(loader):
    total = total + loss(batch)
    if i % N == 0:                      # at the very first: a group of one
        total.backward()
        optimizer.step()
        total = 0

A backward inside the guard is no accumulation by itself (critics and policies have turns): only a sum that grows in
every iteration, and is begun anew under the guard, says that the group is meant.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.groups.beginnings import begins_later
from zerograd.source.lowering.guarded import acts_in
from zerograd.source.lowering.skeleton import Act, Choice, Loop, walk
from zerograd.source.text.nodes import below, place
from zerograd.source.values.reading import Reading


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("%"):
        return
    guards = any(choice.guard for choice in function.parts(Choice))
    for loop in (one for one in function.parts(Loop) if guards and one.node is not None):
        for choice in (node for node in walk(loop.body) if isinstance(node, Choice)):
            guard = choice.guard
            if guard is None or guard.loop is not loop.node or guard.phase != 0 or guard.negated or guard.conjoined:
                continue
            acts = acts_in(choice.body)
            steps = any(act.kind is Kind.CONSUME for act in acts)
            deposits = [act for act in acts if act.kind is Kind.DEPOSIT]
            summed = steps and any(_is_sum(function, act, loop, choice) for act in deposits)
            if summed and choice.site is not None and not _is_any_length(function, loop):
                yield note(REGISTRY["ZG103"], choice.site, certain=True, test="the test", first="1", size=guard.size)


def _is_any_length(function: Reading, loop: Loop) -> bool:
    """Whether a group may be of any length: a state is carried over and cut (truncated backpropagation), the sum is
    divided by how many there were, or the first iteration adds nothing."""
    inside = below(loop.node) if loop.node is not None else []
    if any(isinstance(node, ast.Attribute) and node.attr in ("detach", "detach_", "data") for node in inside):
        return True
    counted = {
        node.target.id for node in inside if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    divisors = {node.right for node in inside if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)}
    if any(isinstance(node, ast.Name) and node.id in counted for one in divisors for node in below(one)):
        return True
    return any(begins_later(loop.node, node) for _, node in _grown(function))


def _is_sum(function: Reading, deposit: Act, loop: Loop, choice: Choice) -> bool:
    """Whether a loss is added up before the guard, in every iteration, and begun anew behind its backward()."""
    if not isinstance(deposit.node, ast.Call) or choice.site is None:
        return False
    loss = loss_of(deposit.node)
    names = {part.id for part in below(loss) if isinstance(part, ast.Name)} if loss is not None else set()
    arms = function.arms(deposit.node)
    for name, node in _grown(function):
        before = node.lineno < choice.site.line and function.loop_around(node) is loop.node
        if name in names and before and function.arms(node) < arms and _is_begun_anew(function, name, deposit.node):
            return True
    return False


def _grown(function: Reading) -> Iterator[tuple[str, ast.stmt]]:
    """total += loss, total = total + loss"""
    for node in function.of(ast.AugAssign):
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            yield node.target.id, node
    for made in function.of(ast.Assign):
        match made:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=first), op=ast.Add())) if (
                first == name
            ):
                yield name, made


def _is_begun_anew(function: Reading, name: str, deposit: ast.Call) -> bool:
    return any(
        isinstance(target, ast.Name) and target.id == name and place(node) > place(deposit)
        for node in function.of(ast.Assign)
        if function.arms(node) == function.arms(deposit)
        and not any(isinstance(part, ast.Name) and part.id == name for part in below(node.value))
        for target in node.targets
    )
