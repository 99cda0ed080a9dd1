"""Attacks whose perturbation is never cleared: each of their steps goes along the sum of all slopes so far (ZG001).

for _ in range(steps):
    loss_fn(model(x + delta), y).backward()
    delta.data = (delta + alpha * delta.grad.sign()).clamp(-eps, eps)        # and no delta.grad.zero_()

optimizer.zero_grad() does not help: no optimizer holds delta.
"""

import ast
from collections.abc import Iterator
from itertools import islice

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.leaves import leaves_of, makes_leaf
from zerograd.source.order.updates import CURE, may_clear, may_reach
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import LoopNode, Reading

_FEW = 4  # moves that are looked at in one function


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("requires_grad"):
        return
    told: set[tuple[ast.AST, str]] = set()
    for move, name in islice(_moves(function), _FEW):
        loop = function.loop_around(move)
        fed = [act for act in function.having(Kind.DEPOSIT) if act.node and function.loop_around(act.node) is loop]
        if loop is None or not fed or (loop, name) in told or not _piles_up(function, loop, name):
            continue
        told.add((loop, name))
        deposit, step = f"{fed[0].what} on line {fed[0].site.line}", written(move)
        related = (Related(fed[0].site, "the gradient is deposited here"),)
        names = {"step": step, "deposit": deposit, "consumer": f"{step} one iteration earlier"}
        found = note(REGISTRY["ZG001"], function.site(move), certain=True, related=related, **names)
        yield found._replace(cure=CURE.format(name=name))


def _moves(function: Reading) -> Iterator[tuple[ast.stmt, str]]:
    """delta.data = delta + alpha * slope, with slope = delta.grad.sign(): the statements that move a leaf along it."""
    made = {path_of(node.targets[0]) or "" for node in function.of(ast.Assign) if makes_leaf(node.value)}
    leaves = {name for name in leaves_of(function) | made if name.isidentifier()}
    statements: list[ast.Assign | ast.AugAssign] = [*function.of(ast.Assign), *function.of(ast.AugAssign)]
    for node in sorted(statements, key=place) if leaves else ():
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            name, _, data = (path_of(target) or "").partition("[")[0].partition(".")
            if name in leaves and data == "data" and _goes_along(function, node.value, name):
                yield node, name


def _goes_along(function: Reading, value: ast.expr, name: str) -> bool:
    """Whether a value is made of the gradient, or of something that was."""
    along = {f"{name}.grad"}
    for node in sorted(function.of(ast.Assign), key=place):
        if any(path_of(part) in along for part in below(node.value)):
            along |= {path_of(target) or "" for target in node.targets if isinstance(target, ast.Name)}
    return any(path_of(part) in along for part in below(value))


def _piles_up(function: Reading, loop: LoopNode, name: str) -> bool:
    """Whether neither the tensor nor its gradient is a new one in every round, and nobody can clear it."""
    paths = [(part, path_of(part) or "") for part in below(function.node) if isinstance(part, ast.expr)]
    ours = [(part, path) for part, path in paths if path == name or path.startswith((f"{name}.grad", f"{name}["))]
    stored = [(part, path) for part, path in ours if not isinstance(getattr(part, "ctx", ast.Load()), ast.Load)]
    anew = any(holds(loop, part) for part, path in stored if not path.startswith(f"{name}["))
    before = any(path == name and place(part) < place(loop) for part, path in stored)
    aliased = any(path_of(node.value) == f"{name}.grad" for node in function.of(ast.Assign))
    if anew or not before or aliased or _is_listed(function, name) or may_clear(function):
        return False
    in_place = (path for _, path in ours if path.startswith(f"{name}.grad.") and path.endswith("_"))
    others = {part.id for each in function.of(ast.For) for part in below(each.target) if isinstance(part, ast.Name)}
    whose = [act for act in function.having(Kind.CLEAR) if act.what.endswith((".zero_()", "= None"))]
    return not any(in_place) and not any(may_reach(act.what, name, others) for act in whose)


def _is_listed(function: Reading, name: str) -> bool:
    """Whether it is part of something: [delta], {"params": delta}; or handed to someone who may clear it."""
    parts = [part for node in function.of(ast.List) for part in node.elts]
    parts += [part for node in function.of(ast.Tuple) for part in node.elts if isinstance(node.ctx, ast.Load)]
    parts += [part for node in function.of(ast.Dict) for part in node.values]
    parts += [one for call in function.of(ast.Call) if "grad" in (path_of(call.func) or "") for one in call.args]
    return any(path_of(part) == name for part in parts)
