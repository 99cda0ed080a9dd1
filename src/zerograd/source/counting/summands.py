"""The parts of a sum, as it is written."""

import ast
from collections.abc import Iterator

from zerograd.source.text.paths import path_of


def adds_to(path: str, value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and any(path_of(part) == path for part in summands(value))


def summands(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            yield from summands(left)
            yield from summands(right)
        case _:
            yield node


def undivided(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression, but for what it divides by: that may well be counted up."""
    yield node
    for child in (
        [node.left] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else ast.iter_child_nodes(node)
    ):
        yield from undivided(child)


def terms_of(call: ast.Call) -> ast.expr | None:
    """losses, of sum(losses.values()) or sum(loss for loss in losses.values()): the terms of one loss, by their names;
    what is summed over a list may be items."""
    match call:
        case ast.Call(func=ast.Name(id="sum"), args=[ast.Call(func=ast.Attribute(value=terms, attr="values"))]):
            return terms
        case ast.Call(
            func=ast.Name(id="sum"),
            args=[
                ast.GeneratorExp(elt=ast.Name(id=one), generators=[each])
                | ast.ListComp(elt=ast.Name(id=one), generators=[each])
            ],
        ):
            match each:
                case ast.comprehension(
                    target=ast.Name(id=name), iter=ast.Call(func=ast.Attribute(value=terms, attr="values")), ifs=[]
                ) if name == one:
                    return terms
    return None
