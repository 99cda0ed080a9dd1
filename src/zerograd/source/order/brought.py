"""Gradients that are brought from elsewhere and added by hand, to what the last call has cleared by None (ZG303).

def update(self, gradients):
    for p, g in zip(self.model.parameters(), gradients):
        p.grad += g                     # zeros, the first time, that __init__ put there; None, the second
    self.optimizer.step()
    self.optimizer.zero_grad()

A parameter server of this kind, written when zero_grad() left zeros, works for one step.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act
from zerograd.source.order.clears import keeps_zeros
from zerograd.source.text.nodes import below, holds
from zerograd.source.values.reading import Reading


def detect(function: Reading) -> Iterator[Finding]:
    if function.having(Kind.DEPOSIT) or not function.having(Kind.CONSUME):
        return
    for loop in function.of(ast.For):
        brought = _brought(loop, function)
        for node in function.of(ast.AugAssign) if brought else ():
            match node:
                case ast.AugAssign(
                    target=ast.Attribute(value=ast.Name(id=name), attr="grad"), op=ast.Add(), value=ast.Name(id=given)
                ):
                    clear = _cleared(function, node) if (name, given) == brought and holds(loop, node) else None
                    if clear is not None and function.loop_around(node) is loop:
                        why = f"the last call set it to None on line {clear.site.line}"
                        what = f"{name}.grad"
                        yield note(REGISTRY["ZG303"], function.site(node), certain=True, what=what, why=why)


def _brought(loop: ast.For, function: Reading) -> tuple[str, str] | None:
    """`p, g` of: for p, g in zip(model.parameters(), gradients), which the function is given."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), ast.Name(id=given)]),
            iter=ast.Call(func=ast.Name(id="zip"), args=[_, ast.Name(id=brought)]),
        ) if brought in function.scope.parameters and "grad" in brought.lower():
            return name, given
    return None


def _cleared(function: Reading, added: ast.AugAssign) -> Act | None:
    """The clear behind the sum, unless somebody asks whether there is a gradient, or puts one there."""
    assigned = (target for node in function.of(ast.Assign) for target in node.targets)
    fills = any(isinstance(target, ast.Attribute) and target.attr in ("grad", "_grad") for target in assigned)
    asks = any(
        isinstance(part, ast.Attribute) and part.attr == "grad" for test in _tests(function) for part in below(test)
    )
    if fills or asks:
        return None
    behind = [act for act in function.having(Kind.CLEAR) if act.site.line > added.lineno]
    by_none = [act for act in behind if isinstance(act.node, ast.Call) and not keeps_zeros(act.node)]
    return by_none[0] if by_none and len(by_none) == len(behind) and by_none[0].what.endswith("zero_grad()") else None


def _tests(function: Reading) -> Iterator[ast.expr]:
    yield from (node.test for node in function.of(ast.If))
    yield from (node.test for node in function.of(ast.IfExp))
