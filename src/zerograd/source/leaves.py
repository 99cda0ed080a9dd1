"""Tensors that a program asks gradients of: they have no graph themselves, but what is computed of them has."""

import ast

from zerograd.source.paths import path_of
from zerograd.source.reading import Reading

Ancestors = frozenset[ast.AST | str]
LEAF = "a leaf"  # no name of Python's


def leaves_of(function: Reading) -> frozenset[str]:
    """t.requires_grad = True, t.requires_grad_(): the names of them."""
    if not function.file.says("requires_grad"):
        return frozenset()
    told = [
        target.value
        for node in function.of(ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and not _is_false(node.value)
    ]
    told += [
        call.func.value
        for call in function.of(ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_" and not _refuses(call)
    ]
    names = {path_of(node) or "" for node in told}
    each = [
        loop for loop in function.of(ast.For) if path_of(loop.target) in names
    ]  # for p in params: p.requires_grad_()
    return frozenset({*names, *(path_of(loop.iter) or "" for loop in each)})


def makes_leaf(node: ast.AST) -> bool:
    """torch.zeros(3, requires_grad=True), x.detach().requires_grad_(), nn.Parameter(x)."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
        return not _refuses(node)
    asked = [keyword.value for keyword in node.keywords if keyword.arg == "requires_grad"]
    return any(not _is_false(value) for value in asked) or (path_of(node.func) or "").endswith("Parameter")


def recorded(node: ast.AST, value: ast.AST, ancestors: Ancestors) -> Ancestors:
    """Those of what `node` assigns or returns: if it is computed of a leaf, this is where its graph was recorded."""
    if LEAF not in ancestors or path_of(value) is not None or makes_leaf(value):
        return ancestors
    return (ancestors - {LEAF}) | {node}


def _refuses(call: ast.Call) -> bool:
    return bool(call.args) and _is_false(call.args[0])


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
