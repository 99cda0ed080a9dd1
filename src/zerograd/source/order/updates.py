"""Parameters that are updated by hand: where autograd is watching, or under a new name."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading

_IN_PLACE = frozenset({"sub_", "add_"})


def detect(function: Reading) -> Iterator[Finding]:
    made = _made(function)
    yield from _rebound(function, {name for name, each in made.items() if any(each)})
    yield from _watched(function, made)


def _made(function: Reading) -> dict[str, list[bool]]:
    """By name, for everything it is bound to, whether that is a leaf which requires a gradient."""
    made: dict[str, list[bool]] = {}
    for node in function.of(ast.Assign):
        for target in node.targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Name):
                    made.setdefault(part.id, []).append(is_leaf(node.value, function.scope))
    return made


def _rebound(function: Reading, leaves: set[str]) -> Iterator[Finding]:
    """W = W - lr * W.grad, for a leaf that requires a gradient."""
    for node in function.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=same), op=ast.Sub())):
                if name == same and name in leaves and _reads(node.value, name) and not _made_leaf(function, name):
                    what = f"{written(node)} creates a new tensor, which gets no .grad"
                    yield note(REGISTRY["ZG304"], function.site(node), certain=True, what=what)


def _made_leaf(function: Reading, name: str) -> bool:
    """W.requires_grad_(): the new tensor is made a leaf in its turn."""
    switches = {f"{name}.requires_grad_", f"{name}.requires_grad", f"{name}.retain_grad"}
    return any(path_of(node) in switches for node in function.of(ast.Attribute))


def _watched(function: Reading, made: dict[str, list[bool]]) -> Iterator[Finding]:
    """W -= lr * W.grad outside no_grad: in-place on a leaf that autograd watches, which raises."""
    parameters = {
        loop.target.id
        for loop in function.of(ast.For)
        if isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Call)
        if isinstance(loop.iter.func, ast.Attribute) and loop.iter.func.attr == "parameters"
    }
    watched = {name for name, each in made.items() if all(each)} | (parameters - made.keys())
    for node, name in _in_place(function):
        if name not in watched or not _reads(node, name) or function.without_grad(node):
            continue
        # Whoever calls a function that only updates may have switched autograd off; one that deposits has it on.
        certain = bool(function.having(Kind.DEPOSIT))
        what = f"{written(node)} raises: it changes {name} outside torch.no_grad()"
        yield note(REGISTRY["ZG304"], function.site(node), certain=certain, what=what)


def _in_place(function: Reading) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    for node in function.of(ast.AugAssign):
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Sub | ast.Add):
            yield node, node.target.id
    for call in function.of(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _IN_PLACE:
                yield call, name


def _reads(node: ast.AST, name: str) -> bool:
    return any(path_of(part) == f"{name}.grad" for part in below(node))


def is_leaf(value: ast.expr, scope: Scope) -> bool:
    """torch.zeros(3, requires_grad=True), and not a tensor of some other library; nn.Parameter(...)"""
    if not isinstance(value, ast.Call):
        return False
    dotted = scope.dotted(path_of(value.func) or "")
    asked = next((keyword.value for keyword in value.keywords if keyword.arg == "requires_grad"), None)
    if asked is None:
        return dotted == "torch.nn.Parameter"
    return dotted.startswith("torch.") and isinstance(asked, ast.Constant) and asked.value is True
