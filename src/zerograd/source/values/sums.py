"""Sums and lists, and what each round of a loop adds to them."""

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache

from zerograd.source.text import wording
from zerograd.source.text.nodes import written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import SMOOTH
from zerograd.source.values.reading import Reading

_ADDING = frozenset({ast.BinOp, ast.IfExp, ast.Tuple})  # in these a sum may stand
_MADE_OF = frozenset({ast.Call, ast.Tuple, ast.List, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript})
_NAMED = (ast.Attribute, ast.Subscript)
_JOINS = frozenset({"cat", "concat", "concatenate", "vstack", "hstack"})
_ADDS = _JOINS | {"add"}  # total.add(added), torch.cat((all, added))
_GROWS = frozenset({"append", "extend", "insert"})


@lru_cache(maxsize=2)  # several look at one function, one after the other, and on the way at one that it calls
def adds_to(function: Reading) -> list[tuple[ast.AugAssign | ast.Assign, str, ast.expr]]:
    """Every sum that something is added to, and what; but total.data += added leaves no graph behind."""
    sums: list[tuple[ast.AugAssign | ast.Assign, str, ast.expr]] = [*_added(function), *weighed_anew(function)]
    return [one for one in sums if "data" not in one[1].replace("[", ".").split(".")[1:]]


def _added(function: Reading) -> Iterator[tuple[ast.AugAssign, str, ast.expr]]:
    """total += added"""
    for node in function.of(ast.AugAssign):
        total = path_of(node.target)
        if isinstance(node.op, ast.Add) and total:
            yield node, total, node.value


def weighed_anew(function: Reading) -> Iterator[tuple[ast.Assign, str, ast.expr]]:
    """total = total + added, mean = 0.9 * mean + 0.1 * added, mean = (mean * i + added) / (i + 1), torch.cat((all,
    added)); of several one, total, n = total + added, n + 1 or mean = (0.9 * mean[0] + added, 0.9 * mean[1] + 1)"""
    calls = {node for word in _ADDS for node in function.made.get(word, ())}
    for node in function.of(ast.Assign):
        kind = node.value.__class__
        if kind not in _ADDING and node not in calls:  # nine in ten
            continue
        match node.targets[0], node.value:
            case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                several = [(path_of(name), path_of(name), its) for name, its in zip(names, values, strict=True)]
            case target, ast.Tuple(elts=values):
                total = path_of(target)
                several = [(total, f"{total}[{place}]", its) for place, its in enumerate(values)]
            case target, value:
                several = [(path_of(target), path_of(target), value)]
        for total, before, value in several:
            for left, right in _summed(value) if total and before else ():
                pairs = ((left, right), (right, left))
                yield from ((node, total or "", added) for kept, added in pairs if _is_weighed(kept, before or ""))


def _summed(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The two that are added, whatever the sum is divided by."""
    match value:
        case ast.BinOp(left=inner, op=ast.Div() | ast.Mult()):
            yield from _summed(inner)
        case ast.BinOp(op=ast.Add()):
            first, *others = _addends(value)
            yield from ((first, one) for one in others)
            yield from ((others[-1], one) for one in others[:-1])  # total = a + b + total
        case ast.IfExp(body=body, orelse=orelse):  # mean = loss if mean is None else 0.9 * mean + 0.1 * loss
            yield from _summed(body)
            yield from _summed(orelse)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr=attr), args=[ast.Tuple() | ast.List() as all, *_]
        ) if attr in _JOINS:
            yield from ((all.elts[0], one) for one in all.elts[1:])
        case ast.Call(func=ast.Attribute(value=total, attr="add"), args=[added], keywords=[]):
            yield total, added


def _addends(value: ast.expr) -> list[ast.expr]:
    """total, a and b of total + a + b"""
    match value:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [*_addends(left), right]
    return [value]


def _is_weighed(value: ast.expr, total: str) -> bool:
    match value:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _is_weighed(left, total) or (isinstance(value.op, ast.Mult) and _is_weighed(right, total))
        case ast.Call(func=ast.Attribute(value=several, attr="get"), args=[key, ast.Constant()]):  # totals.get(name, 0)
            return path_of(ast.Subscript(several, key, ast.Load())) == total
    return path_of(value) == total


def weighs(added: ast.expr, loss: str) -> bool:
    """Whether the loss itself is added, as it is, times a number, beside others, as a mean, or moved elsewhere."""
    return loss in summands(added)


def weighed(added: ast.expr, losses: Collection[str]) -> str | None:
    """The first of these that is."""
    if isinstance(added, ast.Name):  # most of what is handed over
        return added.id if added.id in losses else None
    if added.__class__ not in _MADE_OF:  # nearly all the rest
        return None
    names = summands(added)
    return next((loss for loss in losses if loss in names), None) if names else None


def summands(added: ast.expr) -> list[str]:
    """The names of all that is added so."""
    if isinstance(added, ast.Name):
        return [added.id]
    if added.__class__ not in _MADE_OF:
        return []
    if isinstance(added, ast.Call):
        return _called(added)
    if isinstance(added, _NAMED):
        path = path_of(added)  # the second, without its parentheses, holds the loss
        return [path, path.removesuffix(".item")] if path is not None else []
    match added:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Dict(values=items):
            return [name for item in items for name in summands(item)]
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=right):
            return summands(left) + summands(right)
        case ast.UnaryOp(operand=inner):
            return summands(inner)
    return []


def _called(call: ast.Call) -> list[str]:
    """loss of abs(loss), torch.mean(loss), loss.mean(); losses['kl'] of losses.get('kl')"""
    func, args = call.func, call.args
    if not isinstance(func, ast.Attribute):
        return summands(args[0]) if isinstance(func, ast.Name) and func.id == "abs" and len(args) == 1 else []
    if func.attr in SMOOTH:
        if args and isinstance(func.value, ast.Name) and func.value.id == "torch":
            return summands(args[0])
        names = summands(func.value)
        return names if names and not wording.INTEGER.search(written(call)) else []
    if func.attr == "get" and args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
        return [f"{path_of(func.value)}[{args[0].value!r}]"]
    if func.attr == "allreduce" and args and isinstance(func.value, ast.Name) and func.value.id == "hvd":
        return summands(args[0])  # horovod's is differentiable
    return []


@lru_cache(maxsize=2)
def appends_to(function: Reading) -> list[tuple[ast.Expr, str, ast.expr]]:
    """Every list that something is appended to, and what."""
    found: list[tuple[ast.Expr, str, ast.expr]] = []
    for node in function.of(ast.Expr):
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _GROWS:
            continue
        match call:
            case (
                ast.Call(func=ast.Attribute(value=keeper, attr="append"), args=[given])
                | ast.Call(func=ast.Attribute(value=keeper, attr="extend"), args=[ast.Name() | ast.List() as given])
                | ast.Call(func=ast.Attribute(value=keeper, attr="insert"), args=[ast.Constant(), given])
            ):
                found.append((node, _list_of(keeper), given))
    return found


def _list_of(keeper: ast.expr) -> str:
    match keeper:
        case ast.Call(func=ast.Attribute(value=several, attr="setdefault"), args=[key, ast.List(elts=[])]):
            item = path_of(ast.Subscript(several, key, ast.Load()))
            return item or ""
    return path_of(keeper) or ""
