"""Losses that a function of this project returns after it went backward from them, as whoever calls it sees them.

total += train_step(x), losses.append(agent.update(x)[0]), logs = step(x) and total += logs["loss"] * n
"""

import ast
from collections.abc import Iterator

from zerograd.source.callers import called
from zerograd.source.definitions import Item, definitions_of, is_key, item_of
from zerograd.source.graphs import is_constant
from zerograd.source.kept import live_losses
from zerograd.source.nodes import below
from zerograd.source.paths import path_of
from zerograd.source.reading import Reading
from zerograd.source.rebound import is_rebound
from zerograd.source.sums import weighs
from zerograd.source.wording import INTEGER, SMOOTH


def is_returned(function: Reading, value: ast.expr, node: ast.AST) -> bool:
    """Whether what is kept is such a loss, or is weighed with one."""
    if any(_returns_loss(function, call, at, node) for call, at in _calls(value)):
        return True
    paths = {path for part in below(value) if (path := path_of(part)) is not None}
    return any(weighs(value, path) and _is_bound(function, path, node) for path in paths)


def _calls(value: ast.expr) -> Iterator[tuple[ast.Call, Item]]:
    """The calls that a value is made of, each with the item that is taken of what it returns."""
    match value:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=right):
            yield from _calls(left)
            yield from _calls(right)
        case ast.Subscript(value=ast.Call() as call, slice=at) if item_of(at) is not None:
            yield call, item_of(at)
        case ast.Call(func=ast.Attribute(value=ast.Call() | ast.Subscript() as inner, attr=attr)) if attr in SMOOTH:
            if not any(INTEGER.search(ast.unparse(given)) for given in value.args):
                yield from _calls(inner)
        case ast.Call():
            yield value, None


def _is_bound(function: Reading, path: str, node: ast.AST) -> bool:
    """Whether a name stands for such a loss, or on another way for a plain number: loss = 0."""
    reached = definitions_of(function).reaching(path, node)
    if reached is None or path in function.scope.parameters:
        return False
    made = [one for one in reached.here if not is_constant(one.value)]
    return bool(made) and all(
        isinstance(one.value, ast.Call)
        and not (one.adds or one.each)
        and _returns_loss(function, one.value, one.at if one.at is not None else reached.item, node)
        for one in made
    )


def _returns_loss(function: Reading, call: ast.Call, at: Item, node: ast.AST) -> bool:
    """Whether a function of this project goes backward from what it returns, and returns it on every way; or zero,
    where whoever keeps it does not ask."""
    path = path_of(call.func)
    callee, program = called(path, function.scope) if path is not None else None, function.file.program
    block = program.body_of(callee) if callee is not None else ()
    if callee is None or not block or callee.node.decorator_list:
        return False
    inside = Reading(callee.node, block, callee.scope, function.file)
    losses, values = live_losses(inside), inside.of(ast.Return)
    asks = function.arms(node) != function.arms(function.loop_around(node) or node)
    return bool(losses and values) and all(_is_live(inside, back, at, losses, asks) for back in values)


def _is_live(inside: Reading, back: ast.Return, at: Item, losses: dict[str, ast.Call], asks: bool) -> bool:
    value = _item(inside, back.value, at) if back.value is not None else None
    loss = next((name for name in losses if value is not None and weighs(value, name)), None)
    if value is None or loss is None or inside.arms(losses[loss]) or inside.without_grad(back):
        return False  # it goes backward on some ways only
    return not is_rebound(inside, loss, losses[loss], value) and not (asks and _may_be_zero(inside, loss, value))


def _may_be_zero(inside: Reading, loss: str, use: ast.AST) -> bool:
    reached = definitions_of(inside).reaching(loss, use)
    return reached is not None and any(is_constant(one.value) for one in reached.here)


def _item(inside: Reading, value: ast.expr, at: Item) -> ast.expr | None:
    """What is returned, or that item of it: of a tuple or a dictionary, written out here or a line before."""
    match value:
        case ast.Name(id=name):
            reached = definitions_of(inside).reaching(name, value)
            made = [one for one in reached.here if not one.adds and not one.each] if reached is not None else []
            alone = reached is not None and reached.certain and len(reached.here) == 1 == len(made)
            if alone and made[0].at is None and isinstance(made[0].value, ast.Dict | ast.Tuple):
                return _item(inside, made[0].value, at)
        case ast.Tuple(elts=items) if isinstance(at, int):
            return items[at] if at < len(items) and not any(isinstance(one, ast.Starred) for one in items) else None
        case ast.Dict(keys=keys, values=values) if at is not None:
            named = [its for key, its in zip(keys, values, strict=True) if is_key(key, at)]
            return named[-1] if named and None not in keys else None
    return value if at is None else None
