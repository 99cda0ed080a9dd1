"""A guard that asks a counter which nobody counts up: it is always true, and every micro-batch is stepped (ZG106).

j = 0
for batch in loader:
    loss(batch).backward()
    if j % N == 0:              # j is 0 for ever
        optimizer.step()

Only a variable of the function's own that is set to 0 and to nothing else is known to stay there.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.text.nodes import below, holds, place
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading

_FEW = 8  # branches: a tangle has more


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("%"):
        return
    branches = [(branch, counter) for branch in function.of(ast.If) if (counter := _counter(branch.test)) is not None]
    if not 0 < len(branches) <= _FEW or function.file.says("nonlocal ") or function.file.says("global "):
        return
    for branch, counter in branches:
        inside = [act for act in function.acts if act.node is not None and holds(branch, act.node)]
        step = next((act for act in inside if act.kind is Kind.CONSUME), None)
        if step is None or any(act.kind is Kind.DEPOSIT for act in inside) or not _deposits_before(function, branch):
            continue
        # With another way to step beside it, it is a setting; and of groups of 1 there is nothing to say.
        if not branch.orelse and _stays(function, counter) and not _is_one(function, branch.test):
            why = f"{counter} is never increased"
            related = (Related(function.site(branch), f"is always true: nothing increases {counter}"),)
            yield note(REGISTRY["ZG106"], step.site, certain=True, step=step.what, why=why, related=related)


def _counter(test: ast.expr) -> str | None:
    """j of `j % N == 0`, `not j % N`; with an N that may be more than 1."""
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Mod()) as asked, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            pass
        case ast.UnaryOp(op=ast.Not(), operand=ast.BinOp(op=ast.Mod()) as asked):
            pass
        case _:
            return None
    alone = isinstance(asked.right, ast.Constant) and asked.right.value == 1
    return asked.left.id if isinstance(asked.left, ast.Name) and not alone else None


def _is_one(function: Reading, test: ast.expr) -> bool:
    """Whether some name in the question is set to 1."""
    names = {path_of(part) for part in below(test)}
    made = (node for node in below(function.file.program.tree) if isinstance(node, ast.Assign))
    return any(
        isinstance(node.value, ast.Constant) and node.value.value == 1 and path_of(target) in names
        for node in made
        for target in node.targets
    )


def _deposits_before(function: Reading, branch: ast.If) -> bool:
    """Whether the loop around a branch deposits in front of it, in every iteration that comes to it."""
    loop = function.loop_around(branch)
    return loop is not None and any(
        act.node is not None
        and place(act.node) < place(branch)
        and function.loop_around(act.node) is loop
        and function.arms(act.node) <= function.arms(branch)
        for act in function.having(Kind.DEPOSIT)
    )


def _stays(function: Reading, counter: str) -> bool:
    """Whether a variable is set to 0, and to nothing else by anybody."""
    if counter in function.scope.parameters:
        return False
    stored = [name for name in function.of(ast.Name) if name.id == counter and not isinstance(name.ctx, ast.Load)]
    zeros = [
        target
        for node in function.of(ast.Assign)
        if isinstance(node.value, ast.Constant) and node.value.value == 0
        for target in node.targets
    ]
    return bool(stored) and all(any(name is zero for zero in zeros) for name in stored)
