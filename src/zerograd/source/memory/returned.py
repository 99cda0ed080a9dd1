"""Losses that a function of this project returns, or leaves in an attribute, after it went backward from them.

total += train_step(x), losses.append(agent.update(x)[0]), logs = step(x) and total += logs["loss"] * n
agent.update(x) and total += agent.loss
"""

import ast
from collections.abc import Iterator

from zerograd.source.graphs.living import is_constant
from zerograd.source.lowering.callees import callees_of
from zerograd.source.memory.keeping import heirs
from zerograd.source.memory.kept import live_losses, retains
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import Nodes, below, holds, place
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import CUTS, INTEGER, SMOOTH
from zerograd.source.values.callers import called
from zerograd.source.values.definitions import Item, assigned_by, definitions_of, is_key, item_of
from zerograd.source.values.reading import File, Reading
from zerograd.source.values.rebound import is_rebound
from zerograd.source.values.sums import summands, weighed

_TAKES = pattern(r"number|item|numpy|float|detach|cpu|reduce|scalar")
_DEEP = 1  # calls from a method to others of its object


def is_returned(function: Reading, value: ast.expr, node: ast.AST) -> bool:
    """Whether what is kept is such a loss, or is weighed with one."""
    if any(_returns_loss(function, call, at, node) for call, at in _calls(value)):
        return True
    return any(_is_bound(function, path, node) or _is_left(function, path, node) for path in summands(value))


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
    names = definitions_of(function)
    every = names.every(path)
    if path in function.scope.parameters or (every and not any(_runs_own(one.value, function) for one in every)):
        return False
    reached = names.reaching(path, node)
    if reached is None:
        return False
    made = [one for one in reached.here if not is_constant(one.value)]
    if not made or not all(isinstance(one.value, ast.Call) and not (one.adds or one.each) for one in made):
        return False
    if not all(
        isinstance(one.value, ast.Call)
        and _returns_loss(function, one.value, one.at if one.at is not None else reached.item, node)
        for one in made
    ):
        return False
    root, loop = path.partition("[")[0], function.loop_around(node)
    calls = [call for call in function.of(ast.Call) if loop is not None and holds(loop, call)]
    return not any(_may_change(call, root, function) for call in calls)


def _runs_own(value: ast.expr, function: Reading) -> bool:
    """Whether it calls a function of this project: that costs less to ask than which assignment reaches a use."""
    path = path_of(value.func) if isinstance(value, ast.Call) else None
    return path is not None and called(path, function.scope) is not None


def _returns_loss(function: Reading, call: ast.Call, at: Item, node: ast.AST) -> bool:
    """Whether a function of this project goes backward from what it returns, and returns it on every way; or zero,
    where whoever keeps it does not ask."""
    path = path_of(call.func)
    callee, program = called(path, function.scope) if path is not None else None, function.file.program
    block = program.body_of(callee) if callee is not None else ()
    if callee is None or not block or callee.node.decorator_list or _is_overridden(callee):
        return False
    inside = Reading(callee.node, block, callee.scope, function.file)
    losses, values = live_losses(inside), inside.of(ast.Return)
    asks = function.arms(node) != function.arms(function.loop_around(node) or node)
    return bool(losses and values) and all(_is_live(inside, back, at, losses, asks) for back in values)


def returned_items(function: Reading, call: ast.Call) -> frozenset[str]:
    """The keys of a dictionary that a call returns under which there is such a loss; none if it may return another."""
    path = path_of(call.func)
    callee, program = called(path, function.scope) if path is not None else None, function.file.program
    block = program.body_of(callee) if callee is not None else ()
    if callee is None or not block:
        return frozenset()
    inside = Reading(callee.node, block, callee.scope, function.file)
    keys = {key for back in inside.of(ast.Return) for key in _keys(inside, back.value)}
    frees = not any(retains(deposit) for deposit in live_losses(inside).values())
    return frozenset(key for key in keys if frees and _returns_loss(function, call, key, call))


def _keys(inside: Reading, value: ast.expr | None) -> Iterator[str]:
    """Of {"loss": loss}, or of a name that was set to it a line before."""
    if isinstance(value, ast.Name):
        made = [one.value for one in definitions_of(inside).every(value.id) if not one.adds]
        value = made[0] if len(made) == 1 else None
    for key in value.keys if isinstance(value, ast.Dict) else ():
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def _is_overridden(callee: Function) -> bool:
    """Whether a class that inherits a method has its own, which may return a number."""
    owner = callee.scope.owner
    return owner is not None and any(callee.node.name in heir.functions for heir in heirs(owner))


def _is_live(inside: Reading, back: ast.Return, at: Item, losses: dict[str, ast.Call], asks: bool) -> bool:
    value = _item(inside, back.value, at) if back.value is not None else None
    loss = weighed(value, losses) if value is not None else None
    if value is None or loss is None or inside.arms(losses[loss]) or inside.without_grad(back):
        return False  # it goes backward on some ways only
    return not is_rebound(inside, loss, losses[loss], value) and not (asks and _may_be_zero(inside, loss, value))


def _may_be_zero(inside: Reading, loss: str, use: ast.AST) -> bool:
    reached = definitions_of(inside).reaching(loss, use)
    return reached is not None and any(is_constant(one.value) for one in reached.here)


def _may_change(call: ast.Call, name: str, function: Reading) -> bool:
    """logs.update(loss=loss.item()), to_numbers(logs): whether a call may make numbers of what a name holds."""
    path = path_of(call.func) or "?"
    if path.partition(".")[0] == name:
        return path.rpartition(".")[2] in ("update", "pop", "clear", "popitem", "detach_")
    if not any(path_of(one) == name for one in call.args):
        return False
    callee = called(path, function.scope)
    stores = [] if callee is None else Nodes(callee.node).of(ast.Subscript)
    return _TAKES.search(path) is not None or any(isinstance(one.ctx, ast.Store) for one in stores)


def _item(inside: Reading, value: ast.expr, at: Item) -> ast.expr | None:
    """What is returned, or that item of it: of a tuple or a dictionary, written out here or a line before."""
    match value:
        case ast.Name(id=name):
            reached = definitions_of(inside).reaching(name, value)
            made = [one for one in reached.here if not one.adds and not one.each] if reached is not None else []
            alone = reached is not None and reached.certain and len(reached.here) == 1 == len(made)
            if alone and made[0].at is None and isinstance(made[0].value, ast.Dict | ast.Tuple):
                if any(_may_change(call, name, inside) for call in inside.of(ast.Call)):
                    return None
                return _item(inside, made[0].value, at)
        case ast.Tuple(elts=items) if isinstance(at, int):
            return items[at] if at < len(items) and not any(isinstance(one, ast.Starred) for one in items) else None
        case ast.Dict(keys=keys, values=values) if at is not None:
            named = [its for key, its in zip(keys, values, strict=True) if is_key(key, at)]
            return named[-1] if named and None not in keys else None
    return value if at is None else None


# What a method leaves behind


def _is_left(function: Reading, path: str, node: ast.AST) -> bool:
    """agent.update(x) and total += agent.loss: whether the same round has called what goes backward from it."""
    owner, _, name = path.rpartition(".")
    loop = function.loop_around(node) if owner and name.isidentifier() else None
    if loop is None or definitions_of(function).every(path):
        return False
    before = [call for call in function.of(ast.Call) if holds(loop, call) and place(call) < place(node)]
    methods = [call for call in before if (path_of(call.func) or "").rpartition(".")[0] == owner]
    always = [call for call in methods if function.arms(call) <= function.arms(node)]
    callees = [callees_of(path_of(call.func) or "", function.scope) for call in always]
    return any(
        _leaves(one[0].cls, one[0].function, f"self.{name}", function.file, _DEEP) for one in callees if len(one) == 1
    )


def _leaves(cls: Scope | None, method: Function | None, loss: str, file: File, deep: int) -> bool:
    """Whether a method always goes backward from an attribute of its object, itself or by what it calls, and nobody
    makes a number of it."""
    block = file.program.body_of(method) if method is not None else ()
    if cls is None or method is None or not block or method.node.decorator_list:
        return False
    inside = Reading(method.node, block, method.scope, file)
    deposit = live_losses(inside).get(loss)
    if deposit is None:
        own = [one for one in inside.of(ast.Call) if deep > 0 and not inside.arms(one)]
        names = [path.removeprefix("self.") for one in own if (path := path_of(one.func) or "").startswith("self.")]
        return any(_leaves(cls, cls.method(name), loss, file, deep - 1) for name in names)
    made = [(home, one) for home, one in assigned_by(cls, loss, file) if not is_constant(one.value)]
    cut = any(isinstance(part, ast.Attribute) and part.attr in CUTS for _, one in made for part in below(one.value))
    alone = all(home.node is method.node and place(one.node) < place(deposit) for home, one in made)
    return bool(made) and alone and not cut and not inside.arms(deposit) and not retains(deposit) and _stays(cls, loss)


def _stays(cls: Scope, loss: str) -> bool:
    """Whether no property, setattr() or detach_() has its way with an attribute."""
    methods = [one for base in (*cls.lineage(), *heirs(cls)) for one in base.functions.values()]
    calls = {path_of(call.func) for one in methods for call in Nodes(one.node).of(ast.Call)}
    return not cls.method(loss[5:]) and calls.isdisjoint({"setattr", f"{loss}.detach_"})
