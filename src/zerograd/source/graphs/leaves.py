"""Tensors that a program asks gradients of: they have no graph themselves, but what is computed of them has."""

import ast

from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import SAME
from zerograd.source.values.reading import Reading

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
    """Those of what `node` assigns or returns: if it is computed of a leaf, this is where its graph was recorded.
    A leaf that is moved, cast or seen in another shape has a graph that saves nothing: it may be gone through again."""
    value = moved(value)
    named = path_of(value) is not None and not isinstance(value, ast.Subscript)
    if LEAF not in ancestors or named or makes_leaf(value):
        return ancestors
    return (ancestors - {LEAF}) | {node}


def moved(value: ast.AST) -> ast.AST:
    """x of x.to(device).view(-1, 1), and of x[:, 0:1]; an index may be a tensor, which the graph saves."""
    while not makes_leaf(value):
        match value:
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in SAME and path_of(inner) != "torch":
                value = inner
            case ast.Subscript(value=inner, slice=index) if _is_slice(index):
                value = inner
            case _:
                break
    return value


def _is_slice(index: ast.expr) -> bool:
    each = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(one, ast.Slice | ast.Constant) for one in each)


def _refuses(call: ast.Call) -> bool:
    return bool(call.args) and _is_false(call.args[0])


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
