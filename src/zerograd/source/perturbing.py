"""Attacks whose perturbation is never cleared: each of their steps goes along the sum of all slopes so far (ZG001).

for _ in range(steps):
    loss_fn(model(x + delta), y).backward()
    delta.data = (delta + alpha * delta.grad.sign()).clamp(-eps, eps)        # and no delta.grad.zero_()

optimizer.zero_grad() does not help: no optimizer holds delta.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.leaves import leaves_of, makes_leaf
from zerograd.source.nodes import below, holds, place, written
from zerograd.source.reading import LoopNode, Reading
from zerograd.source.scopes import path_of

_CLEARS = re.compile(r"zero|clear|reset|grad")


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.reads_gradients or not function.file.says("requires_grad"):
        return
    for act in function.having(Kind.DEPOSIT):
        loop = function.loop_around(act.node) if act.node is not None else None
        for name in sorted(_leaves(function)) if loop is not None else ():
            move = next(_moves(function, loop, name), None) if loop is not None else None
            if loop is None or move is None or not _piles_up(function, loop, name):
                continue
            deposit, step = f"{act.what} on line {act.site.line}", written(move)
            related = (Related(act.site, "the gradient is deposited here"),)
            names = {"step": step, "deposit": deposit, "consumer": f"{step} one iteration earlier"}
            yield note(REGISTRY["ZG001"], function.site(move), certain=True, related=related, **names)


def _leaves(function: Reading) -> set[str]:
    """The variables of this function that gradients are asked of."""
    made = {path_of(node.targets[0]) or "" for node in function.of(ast.Assign) if makes_leaf(node.value)}
    return {name for name in leaves_of(function) | made if name.isidentifier()}


def _moves(function: Reading, loop: LoopNode, name: str) -> Iterator[ast.stmt]:
    """delta.data = ..., delta.data[some] = ..., delta.data += ..."""
    statements: list[ast.Assign | ast.AugAssign] = [*function.of(ast.Assign), *function.of(ast.AugAssign)]
    for node in sorted(statements, key=place):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        paths = ((path_of(target) or "").partition("[")[0] for target in targets)
        if holds(loop, node) and f"{name}.data" in paths:
            yield node


def _piles_up(function: Reading, loop: LoopNode, name: str) -> bool:
    """Whether the gradient is read in the loop, and neither it nor the tensor is a new one in every round."""
    inside = [part for part in below(loop) if isinstance(part, ast.Name | ast.Attribute)]
    reads = any(path_of(part) == f"{name}.grad" and isinstance(part.ctx, ast.Load) for part in inside)
    anew = any(isinstance(part.ctx, ast.Store | ast.Del) and path_of(part) in (name, f"{name}.grad") for part in inside)
    before = any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
                 and place(part) < place(loop) for part in below(function.node))  # fmt: skip
    return reads and not anew and before and not any(_may_clear(call, name) for call in function.of(ast.Call))


def _may_clear(call: ast.Call, name: str) -> bool:
    """delta.grad.zero_(), delta.grad.fill_(0), zero_gradients(delta), and an optimizer that holds it: Adam([delta])."""
    path = path_of(call.func) or ""
    if path.startswith(f"{name}.grad.") and path.endswith("_"):
        return True
    given = [part for one in (*call.args, *(keyword.value for keyword in call.keywords)) for part in below(one)]
    listed = [element for part in given if isinstance(part, ast.List | ast.Tuple) for element in part.elts]
    whole = [one for one in call.args if path_of(one) == name] if _CLEARS.search(path.rpartition(".")[2]) else []
    return bool(whole) or any(path_of(element) == name for element in listed)
