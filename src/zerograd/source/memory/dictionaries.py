"""Dictionaries that hold losses with their graphs, and whether they still do where they are kept (ZG402).

losses = compute(model, batch)                  logs = self.train_step(batch)
losses["total"].backward()                      # which goes backward, and returns {"loss": loss, "kl": kl}

A dictionary that is made of numbers of another one, loses items, or is handed to somebody who may do either, is not
told of.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.source.counting.losses import loss_of
from zerograd.source.lowering.skeleton import Call
from zerograd.source.memory.kept import live_losses, retains
from zerograd.source.memory.returned import returned_items
from zerograd.source.text.nodes import holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS, tells
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.owned import READERS
from zerograd.source.values.reading import Reading
from zerograd.source.values.rebound import is_rebound

_LOSES = frozenset({"pop", "popitem", "clear"})
_ONLY_READS = CUTS - {"detach_", "data"}


class Items(NamedTuple):
    """The backward that goes through a dictionary of losses, or the call that does; the keys that are known to be live;
    and whether nobody can go through them again."""

    deposit: ast.Call
    keys: frozenset[str]  # none: all together are
    freed: bool


@lru_cache(maxsize=1)  # several look at one function, one after the other
def dictionaries(function: Reading) -> dict[str, Items]:
    """Those of a function, by name."""
    found: dict[str, Items] = {}
    losses = live_losses(function)
    for name, call in losses.items():
        root, opened, key = name.partition("[")
        if opened:
            _add(found, root, call, key.strip("]'\""))
    for act in function.having(Kind.DEPOSIT):
        if isinstance(act.node, ast.Call) and (loss := loss_of(act.node)) is not None:
            _take(found, loss, act.node)
    for node in function.of(ast.Assign):
        for path in map(path_of, node.targets):
            if path is not None and path in losses:
                _take(found, node.value, losses[path])
    return _handed_back(function) | found


def _take(found: dict[str, Items], loss: ast.expr, call: ast.Call) -> None:
    """losses["total"], sum(losses.values()), sum(loss for loss in losses.values())"""
    match loss:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)):
            _add(found, name, call, key)
        case ast.Call(func=ast.Name(id="sum"), args=[summed]):
            match summed:
                case ast.GeneratorExp(elt=ast.Name(id=one), generators=[ast.comprehension(target=target, ifs=[])]):
                    summed = summed.generators[0].iter if path_of(target) == one else summed
                case ast.GeneratorExp(elt=one, generators=[ast.comprehension(target=ast.Name(id=key), iter=over)]):
                    losses = _weighed_by(one, key)
                    if losses is not None and losses in (path_of(over), _keys_of(over)):
                        found.setdefault(losses, Items(call, frozenset(), not retains(call)))
            match summed:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="values"), args=[]):
                    found.setdefault(name, Items(call, frozenset(), not retains(call)))


def _weighed_by(each: ast.expr, key: str) -> str | None:
    """losses of losses[key] * weights[key]"""
    match each:
        case ast.BinOp(left=left, op=ast.Mult()):
            return _weighed_by(left, key)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=at)) if at == key:
            return name
    return None


def _keys_of(over: ast.expr) -> str | None:
    match over:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="keys"), args=[]):
            return name
    return None


def _add(found: dict[str, Items], name: str, call: ast.Call, key: str) -> None:
    known = found.get(name)
    deposit, keys = (known.deposit, known.keys) if known else (call, frozenset[str]())
    found[name] = Items(deposit, keys | {key}, not retains(deposit))


def _handed_back(function: Reading) -> dict[str, Items]:
    """logs of logs = self.train_step(batch), which goes backward from what it returns"""
    found: dict[str, Items] = {}
    names = {part.function.node.name for part in function.parts(Call)}
    for node in function.of(ast.Assign) if names else ():
        call, target = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or _last(call.func) not in names:
            continue  # nearly all of them
        if isinstance(target, ast.Name) and len(node.targets) == 1:
            made = [one for one in definitions_of(function).every(target.id) if not one.adds]
            keys = returned_items(function, call) if len(made) == 1 else frozenset[str]()
            if keys:
                found[target.id] = Items(call, keys, True)
    return found


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def is_live(function: Reading, losses: str, items: Items, node: ast.AST) -> bool:
    """Whether the dictionary still holds what was computed where `node` keeps it: not numbers of it, nor less."""
    if is_rebound(function, losses, items.deposit, node) or losses in function.scope.parameters:
        return False
    reached = definitions_of(function).reaching(losses, node)
    made = [one.value for one in reached.here] if reached is not None else []
    stored = [one for one in function.of(ast.Subscript) if isinstance(one.ctx, ast.Store | ast.Del)]
    changed = [one for one in stored if path_of(one.value) == losses and not isinstance(one.slice, ast.Constant)]
    lost = (path_of(call.func) or "" for call in function.of(ast.Call))
    cut = any(isinstance(value, ast.DictComp) for value in made) or _is_shown(function, losses, node)
    return not cut and not changed and not any(path in {f"{losses}.{way}" for way in _LOSES} for path in lost)


def _is_shown(function: Reading, losses: str, node: ast.AST) -> bool:
    """Whether somebody but the keeper gets the dictionary itself: one of its losses, or a number of it, is not it."""
    return any(
        losses in _wholes(one, but_items=True) for call, given in _given(function) if call is not node for one in given
    )


def is_handed_on(function: Reading, keeper: str, loop: ast.AST) -> bool:
    """Whether somebody inside the loop gets it, who may empty it or cut what is in it."""
    return any(
        path_of(call.func) in {f"{keeper}.{way}" for way in _LOSES} or any(keeper in _wholes(one) for one in given)
        for call, given in _given(function)
        if holds(loop, call)
    )


def _given(function: Reading) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """The calls that may change what they are given, and what that is."""
    for call in function.of(ast.Call):
        path = path_of(call.func) or "?"
        if function.scope.dotted(path).partition(".")[0] in READERS or tells(path):
            continue
        if not path.endswith(".append"):  # a list of them, which is looked at by itself
            yield call, [*call.args, *(named.value for named in call.keywords)]


def _wholes(value: ast.AST, *, but_items: bool = False) -> set[str]:
    """The names that stand somewhere in a value, but for those of which only a number is read."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.Attribute(attr=attr) if attr in _ONLY_READS:
            return set()
        case ast.Subscript(value=ast.Name(), slice=ast.Constant() | ast.Name()) if but_items:
            return set()
    return set[str]().union(*(_wholes(part, but_items=but_items) for part in ast.iter_child_nodes(value)))
