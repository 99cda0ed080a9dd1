"""Losses that stand in a dictionary, and are kept item by item with their graphs (ZG402).

losses = compute(model, batch)
sum(losses.values()).backward()
for name, value in losses.items():
    totals[name] += value
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.differentiated import feeds_a_loss
from zerograd.source.lowering.skeleton import Call
from zerograd.source.memory.dictionaries import Items, dictionaries, is_handed_on, is_live
from zerograd.source.memory.kept import resets
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.reading import LoopNode, Reading
from zerograd.source.values.sums import weighs

_FEW = 12  # sums that are looked at in one function
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PLAIN = frozenset({"float", "int", "list"})
_READS = frozenset({"items", "keys", "values", "get", "append"})
_MAKERS = frozenset({"defaultdict", "dict", "list", "Counter"})


class _Kept(NamedTuple):
    node: ast.stmt
    keeper: str
    losses: str


def detect(function: Reading) -> Iterator[Finding]:
    calls = bool(function.parts(Call))  # of functions that touch gradients
    if not (calls or function.having(Kind.DEPOSIT)):
        return
    kept = [*_summed(function), *_listed(function)]
    found = dictionaries(function) if kept and not function.file.says(".detach_(") else {}
    for node, keeper, losses in kept[:_FEW]:
        items = found.get(losses)
        loop = _loop_over_data(function, node) if items is not None else None
        if items is None or loop is None or not holds(loop, items.deposit) or counts_to_few(loop, function):
            continue
        if items.freed and is_live(function, losses, items, node) and _stays(function, keeper, items, node, loop):
            gone, here = function.arms(items.deposit), function.arms(node)
            unless = "backward() may not run on these losses"
            what = f"{written(node)} keeps the graphs of all iterations"
            certain = here <= gone or gone <= here
            yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _summed(function: Reading) -> Iterator[_Kept]:
    """for name, value in losses.items(): totals[name] += value; for name in losses: totals[name] += losses[name]"""
    for loop in function.of(ast.For):
        match loop.target, loop.iter:
            case (
                ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
                ast.Call(func=ast.Attribute(value=over, attr="items"), args=[], keywords=[]),
            ):
                losses = path_of(over)
            case ast.Name(id=key), ast.Name(id=losses):
                value = ""
            case ast.Name(id=key), ast.Call(func=ast.Attribute(value=ast.Name(id=losses), attr="keys"), args=[]):
                value = ""
            case _:
                continue
        for node in loop.body:
            keeper, added = _sum_of(node, key)
            if added is None or not losses or _sets_anew(loop, losses, value):
                continue
            if value and weighs(added, value):
                yield _Kept(node, keeper, losses)
            elif not value and (named := _item_of(added, key)) is not None and losses in (named, keeper):
                yield _Kept(node, keeper, named)


def _sets_anew(loop: ast.For, losses: str, value: str) -> bool:
    """for name, value in losses.items(): value = value.item()"""
    stored = [part.id for part in below(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    return losses in stored or stored.count(value) > 1


def _sum_of(node: ast.stmt, key: str) -> tuple[str, ast.expr | None]:
    """What is added to, and what: totals[key] += added, totals[key].append(added)."""
    match node:
        case ast.AugAssign(target=ast.Subscript(value=keeper, slice=ast.Name(id=at)), op=ast.Add(), value=added):
            pass
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=keeper, slice=ast.Name(id=at)), attr="append"),
                args=[added],
            )
        ):
            pass
        case _:
            return "", None
    return (path_of(keeper) or "", added) if at == key else ("", None)


def _item_of(added: ast.expr, key: str) -> str | None:
    """`losses` of losses[key] / n."""
    match added:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div()):
            return _item_of(left, key)
        case ast.Subscript(value=ast.Name(id=losses), slice=ast.Name(id=at)) if at == key:
            return losses
    return None


def _listed(function: Reading) -> Iterator[_Kept]:
    """history.append(losses)"""
    for node in function.of(ast.Expr):
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=keeper), attr="append"), args=[ast.Name(id=losses)]):
                yield _Kept(node, keeper, losses)


def _loop_over_data(function: Reading, node: ast.stmt) -> LoopNode | None:
    """The loop around a sum, but for the one over the items that it stands in."""
    around = [loop for loop in function.loops if holds(loop, node) and not _goes_through(loop, node)]
    return max(around, key=lambda loop: (loop.lineno, loop.col_offset), default=None)


def _goes_through(loop: LoopNode, node: ast.stmt) -> bool:
    """Whether a loop is over the items that this very statement adds."""
    keys = [part.id for part in below(loop.target) if isinstance(part, ast.Name)] if isinstance(loop, ast.For) else []
    return node in loop.body and any(_sum_of(node, key)[1] is not None for key in keys)


# Whether they stay


def _stays(function: Reading, keeper: str, items: Items, node: ast.stmt, loop: LoopNode) -> bool:
    """Whether it is this function's own, grows in every iteration, and is never differentiated."""
    if not keeper.isidentifier() or keeper in function.scope.parameters or function.without_grad(node):
        return False
    reached = definitions_of(function).reaching(keeper, node)
    made = [one.value for one in (*reached.here, *reached.around) if not one.adds] if reached is not None else []
    if not made or any("deque" in written(value) or not _covers(value, items) for value in made):
        return False
    added = {id(one.target) for one in function.of(ast.AugAssign)}  # to another of its sums
    stored = [one for one in function.of(ast.Subscript) if isinstance(one.ctx, ast.Store | ast.Del)]
    stored = [one for one in stored if id(one) not in added]
    set_anew = any(path_of(one.value) == keeper and holds(loop, one) and not holds(node, one) for one in stored)
    fresh = resets(function, loop, keeper, node) or set_anew or feeds_a_loss(function, keeper, ())
    return not fresh and not is_handed_on(function, keeper, loop) and not _is_changed(function, keeper)


def _is_changed(function: Reading, keeper: str) -> bool:
    """totals.update(...), or a function inside that has its own way with it."""
    calls = (path_of(call.func) or "" for call in function.of(ast.Call))
    changed = any(path.startswith(f"{keeper}.") and path.rpartition(".")[2] not in _READS for path in calls)
    inner = [one for one in below(function.node) if isinstance(one, _INNER) and one is not function.node]
    return changed or any(isinstance(part, ast.Name) and part.id == keeper for one in inner for part in below(one))


def _covers(value: ast.expr, items: Items) -> bool:
    """Whether what the keeper begins as takes a live loss: it has its key, or gets it."""
    match value:
        case ast.Dict(keys=[_, *_] as keys):
            names = {key.value for key in keys if isinstance(key, ast.Constant)}
            return not items.keys or bool(items.keys & names)
        case ast.Call(func=func, args=args):
            plain = all(isinstance(one, ast.Name) and one.id in _PLAIN for one in args)
            return plain and (path_of(func) or "").rpartition(".")[2] in _MAKERS
    return isinstance(value, ast.Dict | ast.List)
