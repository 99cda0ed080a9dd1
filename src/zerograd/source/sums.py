"""Sums and lists, and what each round of a loop adds to them."""

import ast
from collections.abc import Iterator

from zerograd.source.paths import path_of
from zerograd.source.reading import Reading


def adds_to(function: Reading) -> list[tuple[ast.AugAssign | ast.Assign, str, ast.expr]]:
    """Every sum that something is added to, and what."""
    return [*_added(function), *weighed_anew(function)]


def _added(function: Reading) -> Iterator[tuple[ast.AugAssign, str, ast.expr]]:
    """total += added"""
    for node in function.of(ast.AugAssign):
        total = path_of(node.target)
        if isinstance(node.op, ast.Add) and total:
            yield node, total, node.value


def weighed_anew(function: Reading) -> Iterator[tuple[ast.Assign, str, ast.expr]]:
    """total = total + added, mean = 0.9 * mean + 0.1 * added, mean = (mean * i + added) / (i + 1); and in one of
    several, mean = (0.9 * mean[0] + added, 0.9 * mean[1] + 1)"""
    for node in function.of(ast.Assign):
        total = path_of(node.targets[0]) or "" if isinstance(node.value, ast.BinOp | ast.Tuple) else ""
        items = enumerate(node.value.elts) if isinstance(node.value, ast.Tuple) else [(None, node.value)]
        for place, value in items if total else ():
            before = total if place is None else f"{total}[{place}]"
            for left, right in _summed(value):
                pairs = ((left, right), (right, left))
                yield from ((node, total, added) for kept, added in pairs if _is_weighed(kept, before))


def _summed(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The two that are added, whatever the sum is divided by."""
    match value:
        case ast.BinOp(left=inner, op=ast.Div() | ast.Mult()):
            yield from _summed(inner)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield left, right


def _is_weighed(value: ast.expr, total: str) -> bool:
    match value:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _is_weighed(left, total) or (isinstance(value.op, ast.Mult) and _is_weighed(right, total))
    return path_of(value) == total


def weighs(added: ast.expr, loss: str) -> bool:
    """Whether the loss itself is added, as it is, times a number, beside others, or as a mean."""
    match added:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return any(weighs(item, loss) for item in items)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=right):
            return weighs(left, loss) or weighs(right, loss)
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="mean" | "sum" | "abs"), args=[inner])
            | ast.Call(func=ast.Name(id="abs"), args=[inner])
        ):
            return weighs(inner, loss)
        case (
            ast.UnaryOp(operand=inner)
            | ast.Call(func=ast.Attribute(value=inner, attr="mean" | "sum" | "clone" | "cpu"))
        ):
            return weighs(inner, loss)
        case ast.Call(func=ast.Attribute(value=terms, attr="get"), args=[ast.Constant(value=str() as key), *_]):
            return f"{path_of(terms)}[{key!r}]" == loss
    return path_of(added) in (loss, f"{loss}.item")  # the second, without its parentheses, holds the loss


def appends_to(function: Reading) -> Iterator[tuple[ast.Expr, str, ast.expr]]:
    """Every list that something is appended to, and what."""
    for node in function.of(ast.Expr):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=keeper, attr="append"), args=[given])):
                yield node, path_of(keeper) or "", given
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=keeper, attr="extend"), args=[ast.Name() as given])):
                yield node, path_of(keeper) or "", given
