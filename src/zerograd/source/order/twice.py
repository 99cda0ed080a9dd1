"""Gradients that a loop over the parameters has applied by hand, and an optimizer's step applies again (ZG004).

for p in model.parameters():
    p.data.add_(p.grad, alpha=-lr)      # a step
optimizer.step()                        # and another one, with the same gradients
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act
from zerograd.source.text.nodes import below, holds, place
from zerograd.source.text.paths import path_of
from zerograd.source.values.holdings import held_by
from zerograd.source.values.reading import Reading

_PLAIN = frozenset({"optimizer", "optim", "opt"})


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says(".parameters():"):
        return
    for loop in function.of(ast.For):
        model = _model_of(loop)
        inner = below(loop) if model is not None else []
        updates = [node for node in inner if isinstance(node, ast.stmt) and _descends(node, path_of(loop.target))]
        step = _step_behind(function, loop) if updates else None
        if step is None or not (held_by(step.slot or "", function) == {model} or _is_alone(function, step)):
            continue
        by_hand = f"the update by hand on line {updates[0].lineno}"
        related = (Related(function.site(updates[0]), "it is consumed here"),)
        told = {"step": step.what, "consumer": by_hand}
        yield note(REGISTRY["ZG004"], step.site, certain=True, related=related, **told)


def _model_of(loop: ast.For) -> str | None:
    """`model` of for p in model.parameters()"""
    path = path_of(loop.iter.func) if isinstance(loop.iter, ast.Call) and not loop.iter.args else None
    return path.removesuffix(".parameters") if path is not None and path.endswith(".parameters") else None


def _descends(node: ast.stmt, parameter: str | None) -> bool:
    """p.data.add_(-lr, p.grad), p.data.sub_(lr * p.grad), p.data -= lr * p.grad: not up along it."""
    if parameter is None or not any(path_of(part) == f"{parameter}.grad" for part in below(node)):
        return False
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=changed, attr=attr)) as call):
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            down = attr == "sub_" or (attr == "add_" and any(_is_negative(one) for one in given))
            return _is_of(changed, parameter) and down
        case ast.AugAssign(target=target, op=ast.Sub()):
            return _is_of(target, parameter)
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            return _is_of(target, parameter) and _is_negative(value)
    return False


def _is_of(changed: ast.expr, parameter: str) -> bool:
    return path_of(changed) in (parameter, f"{parameter}.data")


def _is_negative(value: ast.expr) -> bool:
    """-lr, -lr * p.grad"""
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        value = value.left
    return isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)


def _step_behind(function: Reading, loop: ast.For) -> Act | None:
    """The next event behind an update is a step, and the one before it a deposit, all on one way."""
    acts = [act for act in function.acts if act.node is not None and act.kind is not Kind.SCHEDULE]
    before = [act for act in acts if act.node is not None and place(act.node) < place(loop)]
    behind = [act for act in acts if act.node is not None and place(act.node) > place(loop)]
    fed = [act for act in before if act.kind in (Kind.DEPOSIT, Kind.CLEAR)]
    if not behind or behind[0].kind is not Kind.CONSUME or not fed or fed[-1].kind is not Kind.DEPOSIT:
        return None
    step, deposit = behind[0].node, fed[-1].node
    assert step is not None
    assert deposit is not None
    around, arms = function.loop_around(step), function.arms(loop)
    outer = [one for one in function.loops if one is not loop and holds(one, loop)]
    innermost = max(outer, key=lambda one: one.lineno) if outer else None
    one_way = around is innermost is function.loop_around(deposit) and function.arms(step) == arms
    return behind[0] if one_way else None


def _is_alone(function: Reading, step: Act) -> bool:
    """Whether nobody can say what it holds, and it is the one optimizer that steps here, and named for nothing else."""
    slots = {act.slot for act in function.having(Kind.CONSUME)}
    plain = (step.slot or "").removeprefix("self.") in _PLAIN
    return plain and slots == {step.slot} and not held_by(step.slot or "", function)
