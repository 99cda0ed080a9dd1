"""What a method keeps of what it is handed, in every call and for good: a meter's update(), a logger's add().

self.sum += val * n                                             itself
self.values[name].append(val)                                   beside others, by name
for name, val in kwargs.items(): self.meters[name].update(val)  one by one, with those that are kept in turn

Only what keeps the parameter itself is told; what is set anew under its name, as val = val.item(), is not.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.source.graphs.living import is_constant
from zerograd.source.memory.kept import is_storage
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import Nodes, below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.automatic import is_known
from zerograd.source.values.definitions import Definition, assigned_by, definitions_of
from zerograd.source.values.instances import class_of
from zerograd.source.values.owned import begins_empty, is_empty_list
from zerograd.source.values.reading import File, Reading
from zerograd.source.values.sums import adds_to, weighs

_SHRINKS = frozenset({"pop", "popleft", "remove", "detach_"})
_ZEROS = frozenset({"int", "float"})
_DEEP = 2  # meters that are kept by others


class _Live(NamedTuple):
    """A name that stands for what was handed in: the parameter, or what a loop takes out of it."""

    name: str
    loop: ast.For | None = None


def _mentions(node: ast.AST, root: str) -> bool:
    return any(path_of(part) == root for part in Nodes(node).of(ast.Attribute))


def heirs(cls: Scope) -> list[Scope]:
    """The classes of its file that derive from a class."""
    return [one for one in cls.module.class_scopes.values() if one is not cls and cls in one.lineage()]


def kept_by(cls: Scope, method: str, call: ast.Call, loss: str, file: File, deep: int = _DEEP) -> frozenset[str] | None:
    """None if a method keeps nothing of a loss that a call hands to it; else the methods that begin anew what it is
    kept in."""
    found = cls.method(method)
    if found is None or not is_known(cls) or found.node.decorator_list or cls.method("__setattr__"):
        return None
    if any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords):
        return None
    names = [name for name, its in arguments(call, found) if weighs(its, loss)]
    inside = Reading(found.node, (), found.scope, file)
    for live in _live(inside, found, names[0]) if len(names) == 1 else ():
        for node, keeper in _keepers(inside, live.name):
            begun = begun_in(cls, found, node, keeper, file)
            if begun is not None and _always_runs(inside, node, keeper, live):
                return begun
        for inner in _handed_on(inside, live):
            owner, _, name = (path_of(inner.func) or "").rpartition(".")
            kept = class_of(inside, owner) if owner.startswith("self.") else None
            if kept is not None and deep and _always_runs(inside, inner, owner, live):
                return kept_by(kept, name, inner, live.name, file, deep - 1)
    return None


def _live(inside: Reading, method: Function, name: str) -> Iterator[_Live]:
    """Under which names a method has what it is handed: as it is, or item by item."""
    extra = method.node.args.kwarg
    several = name if name in method.scope.parameters else extra.arg if extra is not None else None
    if several is None or definitions_of(inside).every(several):
        return  # val = val.item()
    if several == name:
        yield _Live(name)
    for loop in inside.of(ast.For):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(), ast.Name(id=value)]),
                iter=ast.Call(func=ast.Attribute(value=ast.Name(id=over), attr="items"), args=[]),
            ) if over == several and len(definitions_of(inside).every(value)) == 1:
                yield _Live(value, loop)
            case ast.For(target=ast.Name(id=key), iter=over) if several == name and _goes_over(over, several):
                if _is_read_by(inside, several, key):
                    yield _Live(f"{several}[*]", loop)


def _goes_over(over: ast.expr, several: str) -> bool:
    """for key in losses, for key in losses.keys()"""
    match over:
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
            over = inner
    return path_of(over) == several


def _is_read_by(inside: Reading, several: str, key: str) -> bool:
    """Whether its items are only ever read, each by its own key."""
    items = [one for one in inside.of(ast.Subscript) if path_of(one.value) == several]
    return all(path_of(one.slice) == key and isinstance(one.ctx, ast.Load) for one in items)


def _keepers(inside: Reading, name: str) -> Iterator[tuple[ast.AST, str]]:
    """self.sum += val * n, self.values.append(val), self.sums[key] += val: and what it is that keeps."""
    for node, total, added in adds_to(inside):
        if total.startswith("self.") and weighs(added, name):
            yield node, total
    for call in inside.of(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(value=keeper, attr="append"), args=[given]) if weighs(given, name):
                if (path_of(keeper) or "").startswith("self."):
                    yield call, path_of(keeper) or ""


def _handed_on(inside: Reading, live: _Live) -> Iterator[ast.Call]:
    """self.meters[name].update(value)"""
    for call in inside.of(ast.Call):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else "append"
        if method != "append" and any(weighs(one, live.name) for one in call.args):
            yield call


def _always_runs(inside: Reading, node: ast.AST, keeper: str, live: _Live) -> bool:
    """In every call, whatever is handed in, and with autograd looking on; or unless it is the first that is kept."""
    tried = any(holds(one, node) for one in inside.of(ast.Try))
    left = any(place(back) < place(node) for back in (*inside.of(ast.Return), *inside.of(ast.Continue)))
    root = keeper.partition("[")[0]
    arms = inside.arms(node)
    alone = _is_first(inside, node, root) and all(branch.orelse for branch, _ in arms) if arms else True
    return alone and inside.loop_around(node) is live.loop and not tried and not left and not inside.without_grad(node)


def begun_in(cls: Scope, method: Function, node: ast.AST, keeper: str, file: File) -> frozenset[str] | None:
    """The methods beside __init__ that begin anew what keeps; None if something else is done to it, or here."""
    root = keeper.partition("[")[0]
    if cls.method(root[5:]) or cls.method("__setattr__") or is_touched(file, root[5:]):
        return None  # a property may take a number out of it
    if any(_mentions(one.node, root) for heir in heirs(cls) for one in heir.functions.values()):
        return None
    inside = Reading(method.node, (), method.scope, file)
    begun = [(home, one) for home, one in assigned_by(cls, root, file) if one.node is not node]
    runs = _run_by(cls, {method.node.name})
    here = [one for home, one in begun if home.node.name in runs]
    others = [(home, one) for home, one in begun if home.node.name not in runs]
    starts = bool(others) and all(_is_start(one, keeper[len(root) :], home, file) for home, one in others)
    if not starts or not all(_is_first(inside, one.node, root) for one in here):
        return None
    homes = {home.node.name for home, _ in others}
    for other in (one for base in cls.lineage() for one in base.functions.values()):
        nodes = Nodes(other.node)
        placed = list(_placed(nodes, root, keeper, node))
        again = other.node.name in runs and not all(_is_first(inside, one, root) for one in placed)
        if again or _shrinks(nodes, root, keeper) or not all(root != keeper and _fills(one.value) for one in placed):
            return None
        emptied = any(path_of(call.func) in (f"{root}.clear", f"{keeper}.clear") for call in nodes.of(ast.Call))
        if emptied and other.node.name in runs:
            return None
        homes |= {other.node.name} if placed or emptied else set()
    homes -= {"__init__", method.node.name}
    if any(map(_runs_unseen, (cls.method(name) for name in homes))):
        return None
    return _running(cls, homes)


def _runs_unseen(method: Function | None) -> bool:
    """Whether nobody calls it by its name: print(meter), with meter, meter.average of a property."""
    return method is not None and (method.node.name.startswith("__") or bool(method.node.decorator_list))


def _calls(cls: Scope) -> Iterator[tuple[str, str]]:
    """Which methods of an object call which."""
    for one in (method for base in cls.lineage() for method in base.functions.values()):
        for call in Nodes(one.node).of(ast.Call):
            path = path_of(call.func) or ""
            if path.startswith("self."):
                yield one.node.name, path[5:]


def _run_by(cls: Scope, names: set[str]) -> set[str]:
    """These methods, and those that they call, and so on."""
    calls, found = list(_calls(cls)), names
    while more := {inner for outer, inner in calls if outer in found} - found:
        found = found | more
    return found


def _running(cls: Scope, names: set[str]) -> frozenset[str]:
    """These methods, and those that call them, and so on."""
    calls, found = list(_calls(cls)), names
    while more := {outer for outer, inner in calls if inner in found} - found - {"__init__"}:
        found = found | more
    return frozenset(found)


def is_touched(file: File, name: str) -> bool:
    """Whether somebody else in a file sets or empties an attribute: meter.sum = 0, module.losses.clear()."""
    if not file.says(f".{name}"):
        return False
    for part in below(file.program.tree):
        match part:
            case ast.Attribute(attr=attr, value=owner, ctx=ast.Store() | ast.Del()) if attr == name:
                pass
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=owner, attr=attr), attr=way)) if attr == name:
                if way not in _SHRINKS | {"clear"}:
                    continue
            case _:
                continue
        if path_of(owner) != "self":
            return True
    return False


def _is_first(inside: Reading, node: ast.AST, root: str) -> bool:
    """if self.mean is None: self.mean = val"""
    return any(any(path_of(part) == root for part in below(branch.test)) for branch, _ in inside.arms(node))


def _placed(nodes: Nodes, root: str, keeper: str, node: ast.AST) -> Iterator[ast.Assign]:
    """self.values[-1] = ..., self.values[name] = []"""
    for one in nodes.of(ast.Assign):
        targets = [target for target in one.targets if isinstance(target, ast.Subscript)]
        if one is not node and any(path_of(target.value) in (root, keeper) for target in targets):
            yield one


def _shrinks(nodes: Nodes, root: str, keeper: str) -> bool:
    """del self.values[0], self.values.pop()"""
    gone = [target for one in nodes.of(ast.Delete) for target in one.targets]
    return any(isinstance(one, ast.Subscript) and path_of(one.value) in (root, keeper) for one in gone) or any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in _SHRINKS
        and path_of(call.func.value) in (root, keeper)
        for call in nodes.of(ast.Call)
    )


def _fills(value: ast.expr) -> bool:
    """self.values[name] = [], = 0.0: a place for one more."""
    return is_empty_list(value) or (isinstance(value, ast.Constant) and isinstance(value.value, int | float))


def _is_start(one: Definition, keys: str, home: Function, file: File) -> bool:
    """0, 0.0, [], {}: of a queue with an end, or a value that something else made, nothing is known."""
    value = one.value
    if one.at is not None or one.each:
        return False
    if not keys:
        tensor = is_storage(value, Reading(home.node, (), home.scope, file)) and "requires_grad" not in written(value)
        return is_empty_list(value) or tensor or is_constant(value)
    match value:
        case ast.Dict(values=values):
            return all(map(_fills, values))
        case ast.DictComp(value=each) | ast.Call(args=[ast.Lambda(body=each)]):
            return _fills(each)
        case ast.Call(args=[ast.Name(id=made)]) if made in _ZEROS:
            return (path_of(value.func) or "").rpartition(".")[2] == "defaultdict"
    return begins_empty(value, keys)
