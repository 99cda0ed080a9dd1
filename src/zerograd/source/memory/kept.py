"""Losses that are kept with their graphs: summed, listed or stored in every iteration, and never differentiated."""

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.differentiated import feeds_a_loss
from zerograd.source.graphs.terms import names_loss, outputs_of, parts_of
from zerograd.source.memory.leaving import left_by
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import SAME
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.owned import begins_plainly, is_handed_on, is_made_empty
from zerograd.source.values.reading import LoopNode, Reading
from zerograd.source.values.readouts import is_only_read
from zerograd.source.values.rebound import is_rebound
from zerograd.source.values.sums import adds_to, appends_to, summands, weighed

_STORAGES = frozenset(f"torch.{one}{like}" for one in ("zeros", "empty", "ones", "full") for like in ("", "_like"))
_FEW = 12  # sums that are looked at in one function: a tangle of hundreds takes seconds


class _Kept(NamedTuple):
    """`total += loss * n`, `total = total + loss`, `losses.append(loss)`."""

    node: ast.AugAssign | ast.Assign | ast.Expr
    keeper: str
    loss: str


def detect(function: Reading) -> Iterator[Finding]:
    """A loss that backward() was called on is kept in what is never itself differentiated, in every iteration."""
    deposits = live_losses(function) if _may_keep(function) else {}
    if not deposits:
        return
    sums = list(_sums(function, deposits.keys()))
    # What a few repetitions have added up has the graphs of all of them.
    few = {total: deposits[loss] for node, total, loss in sums if _is_of_few(function, node)}
    sums += _sums(function, few.keys() - deposits.keys())
    deposits = few | deposits
    stored, deposits = _stores(function, deposits.keys()), deposits | outputs_of(function, deposits)
    for node, keeper, loss in islice(chain(sums, _lists(function, deposits), stored), _FEW):
        loop = function.loop_around(node)
        if loop is None or keeper in deposits or feeds_a_loss(function, keeper, deposits.keys()):
            continue
        fresh = (
            resets(function, loop, keeper, node) or counts_to_few(loop, function) or is_emptied(function, loop, keeper)
        )
        deposit = _deposit_of(function, loss, node) or deposits[loss]
        if retains(deposit) and not is_only_read(function, keeper, node):
            continue
        if not fresh and not is_rebound(function, loss, deposit, node) and not function.without_grad(node):
            until = f" until {keeper} is set again" if _settings(function, loop, keeper, node) else ""
            what = f"{written(node)} keeps the graphs of all iterations{until}"
            kept, gone = function.arms(node), function.arms(deposit)
            certain = kept <= gone or gone <= kept
            unless = "backward() may not run on this loss"
            yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _may_keep(function: Reading) -> bool:
    """Whether a loop sums, lists or stores anything that goes by a name: what has none is no loss."""
    if not function.loops:
        return False
    given: list[tuple[ast.stmt, ast.expr]] = [(node, added) for node, _, added in adds_to(function)]
    given += [(node, appended) for node, _, appended in appends_to(function)]
    given += [(node, node.value) for node in function.of(ast.Assign) if isinstance(node.targets[0], ast.Subscript)]
    return any(summands(value) and function.loop_around(node) is not None for node, value in given)


def _deposit_of(function: Reading, loss: str, use: ast.AST) -> ast.Call | None:
    """The backward() of what a name stands for at its use, where several losses have that name one after the other."""
    calls = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    its = [call for call in calls if any(loss in _names_of(one) for one in _several(loss_of(call)))]
    return next((call for call in its if not is_rebound(function, loss, call, use)), None) if len(its) > 1 else None


@lru_cache(maxsize=2)  # several look at one function, one after the other, and on the way at one that it calls
def live_losses(function: Reading) -> dict[str, ast.Call]:
    """The losses that backward() is called on, and their terms, by name: each has a graph."""
    calls = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    by_hand = (
        {id(node.value) for node in function.of(ast.Assign)} if calls else ()
    )  # torch's backward() returns nothing
    deposits = {
        name: call
        for call in calls
        if id(call) not in by_hand
        for loss in _several(loss_of(call))
        for name in _names_of(loss)
    }
    return left_by(function, deposits) | deposits | parts_of(function, deposits) if deposits else {}


def _several(loss: ast.expr | None) -> list[ast.expr | None]:
    """torch.autograd.backward([first, second])"""
    return [*loss.elts] if isinstance(loss, ast.List | ast.Tuple) else [loss]


def _names_of(loss: ast.expr | None) -> Iterator[str]:
    """`loss` of `loss`, `loss / n`, `loss.mean()`, `scale * loss.sum()`; both of `kl + bce_loss`."""
    match loss:
        case ast.BinOp(left=left, op=ast.Div()):
            yield from _names_of(left)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            yield from (name for side in (left, right) for name in _names_of(side) if names_loss(name))
        case ast.UnaryOp(operand=inner) | ast.Call(func=ast.Attribute(value=inner, attr="mean" | "sum"), args=[]):
            yield from _names_of(inner)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="mean" | "sum"), args=[inner]):
            yield from _names_of(inner)
        case ast.expr() if (path := path_of(loss)) is not None:
            yield path


def _sums(function: Reading, losses: Collection[str]) -> Iterator[_Kept]:
    for node, total, added in adds_to(function) if losses else ():
        loss = weighed(added, losses)
        if loss is not None:
            root = total.partition("[")[0]
            if not begins_plainly(function, root):
                continue
            if root == total or ((_is_one(function, node) or "[*]" not in total) and not is_handed_on(function, root)):
                yield _Kept(node, total, loss)


def _is_of_few(function: Reading, node: ast.AST) -> bool:
    loop = function.loop_around(node)
    return loop is not None and counts_to_few(loop, function)


def _is_one(function: Reading, node: ast.AugAssign | ast.Assign) -> bool:
    """running[phase] += loss: whether the key is the same in every round of the loop around it."""
    target, loop = node.target if isinstance(node, ast.AugAssign) else node.targets[0], function.loop_around(node)
    if loop is None or not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Name):
        return False
    stored = (name for name in function.of(ast.Name) if isinstance(name.ctx, ast.Store) and holds(loop, name))
    return target.slice.id not in {name.id for name in stored}


def _lists(function: Reading, losses: dict[str, ast.Call]) -> Iterator[_Kept]:
    for node, name, given in appends_to(function):
        root, loop = name.partition("[")[0], function.loop_around(node)
        loss = weighed(given, losses)
        if loss is None or (root != name and loop is not None and resets(function, loop, name, node)):
            continue
        if is_made_empty(function, root, name, node, within=freed_in(loop, losses[loss])):
            yield _Kept(node, root, loss)


def retains(deposit: ast.Call) -> bool:
    """Whether somebody can go through a graph again: backward(retain_graph=True)."""
    return bool(deposit.keywords)


def freed_in(loop: LoopNode | None, deposit: ast.Call) -> LoopNode | None:
    """The loop, if each round of it frees the graph of what it keeps: nobody can go through that behind the loop."""
    return loop if loop is not None and holds(loop, deposit) and not retains(deposit) else None


def _stores(function: Reading, losses: Collection[str]) -> Iterator[_Kept]:
    """storage[i] = loss: into a tensor, which gets a graph by it, or a list or dictionary of this function's own."""
    for node in function.of(ast.Assign):
        match node.targets:
            case [ast.Subscript() as target]:
                loss = weighed(node.value, losses)
                root = (path_of(target) or "").partition("[")[0]
                if loss and (_is_tensor(function, root) or (_is_at(function, target) and _is_storage(function, root))):
                    yield _Kept(node, root, loss)


def _is_at(function: Reading, target: ast.expr) -> bool:
    """Whether every iteration has a place of its own."""
    loop = function.loop_around(target)
    counted = (
        {part.id for part in below(loop.target) if isinstance(part, ast.Name)} if isinstance(loop, ast.For) else ()
    )
    again = any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) for part in below(target))
    return not again and any(isinstance(part, ast.Name) and part.id in counted for part in below(target))


def _is_tensor(function: Reading, root: str) -> bool:
    """A tensor keeps the graphs of all that was ever written into it, wherever."""
    made = [one.value for one in definitions_of(function).every(root) if not one.adds]
    return bool(made) and all(is_storage(value, function) for value in made)


def is_storage(value: ast.expr, function: Reading) -> bool:
    """torch.zeros(n), and wherever it is moved to"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in SAME:
        value = value.func.value
    return isinstance(value, ast.Call) and function.scope.dotted(path_of(value.func) or "") in _STORAGES


def _is_storage(function: Reading, root: str) -> bool:
    made = [one.value for one in function.of(ast.Assign) if any(path_of(target) == root for target in one.targets)]
    return bool(made) and not is_handed_on(function, root) and all(map(_is_empty, made))


def _is_empty(value: ast.expr) -> bool:
    return isinstance(value, ast.List | ast.Dict) and not (value.elts if isinstance(value, ast.List) else value.keys)


def _assigns(node: ast.Assign | ast.AugAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = (part for target in targets for part in below(target))
    return any(path_of(part) == name and isinstance(getattr(part, "ctx", None), ast.Store) for part in parts)


def resets(function: Reading, loop: LoopNode, name: str, kept: ast.AST) -> bool:
    """In every iteration: what is set to zero only now and then, where it is told, has kept all since then."""
    made = _settings(function, loop, name, kept)
    steps = [act.node for act in function.having(Kind.CONSUME) if act.node is not None and holds(loop, act.node)]
    always = [function.arms(kept), *map(function.arms, steps)]  # with every step there is a reset
    return any(function.arms(node) <= arms for node in made for arms in always)


def is_emptied(function: Reading, loop: LoopNode, name: str) -> bool:
    """losses.clear(), losses.pop(0), del losses[:], losses = losses[-9:], now and then: it keeps a few."""
    ways = {f"{name}.{way}" for way in ("clear", "pop", "popleft", "remove", "detach_")}
    calls = any(path_of(call.func) in ways and holds(loop, call) for call in function.of(ast.Call))
    gone = [target for node in function.of(ast.Delete) if holds(loop, node) for target in node.targets]
    cut = any(holds(loop, node) and _is_cut(node, name) for node in function.of(ast.Assign))
    return calls or cut or any(path_of(part) == name for target in gone for part in below(target))


def _is_cut(node: ast.Assign, name: str) -> bool:
    parts = [*node.targets, *(below(node.value) if any(path_of(one) == name for one in node.targets) else ())]
    slices = [part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice)]
    return any(path_of(inner) == name for part in slices for inner in below(part.value))


def _settings(function: Reading, loop: LoopNode, name: str, kept: ast.AST) -> list[ast.Assign]:
    """Where the loop sets it anew, now and then or always."""
    made = (node for node in function.of(ast.Assign) if node is not kept and holds(loop, node))
    return [node for node in made if _assigns(node, name)]
