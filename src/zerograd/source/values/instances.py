"""Of which class of this project an object is: the one that makes everything which is bound to its name.

meter = AverageMeter(); self.criterion = DiceLoss().to(device); meters = {"loss": AverageMeter()}, asked for by its key;
what a caller hands over, or an enclosing function has made.
"""

import ast
from collections.abc import Iterator

from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import SAME
from zerograd.source.values.callers import handed_in
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_DEEP = 2  # calls, or other names, that hand an object on


def class_of(function: Reading, path: str) -> Scope | None:
    made = list(_makers(function, path, _DEEP)) or list(_parts(function, path))
    first = made[0] if made else None
    return first if first is not None and all(one is first for one in made) else None


def _parts(function: Reading, path: str) -> Iterator[Scope | None]:
    """metrics.losses, of an object whose class makes it."""
    owner, _, name = path.rpartition(".")
    cls = class_of(function, owner) if owner not in ("", "self") and name.isidentifier() else None
    for method in (method for one in cls.lineage() for method in one.functions.values()) if cls is not None else ():
        yield from _bound(Reading(method.node, (), method.scope, function.file), f"self.{name}", _DEEP)


def _makers(function: Reading, path: str, deep: int) -> Iterator[Scope | None]:
    scope, file, root = function.scope, function.file, path.partition("[")[0]
    name = root.partition(".")[0]
    if name == "self" and scope.owner is not None:
        methods = [method for one in scope.owner.lineage() for method in one.functions.values()]
        for method in methods if root != "self" else ():
            yield from _bound(Reading(method.node, (), method.scope, file), path, deep)
    elif name in scope.parameters:
        for where, given in handed_in(function, name) if deep and root == name else ():
            yield from _handed(where, given, path[len(root) :], deep)
    else:
        yield from _bound(_home(function, name), path, deep)


def _home(function: Reading, name: str) -> Reading:
    """Where a name is bound: here, in a function around this one, or in the module."""
    file, scope = function.file, function.scope
    if function.node is file.program.tree or scope.owns(name):
        return function
    around = [one for one in file.program.roots.functions if one.scope is scope.parent and one.scope.owns(name)]
    node, scope = around[0] if around else (file.program.tree, file.program.roots.module)
    return Reading(node, (), scope, file)


def _handed(where: Reading, given: ast.expr | None, rest: str, deep: int) -> Iterator[Scope | None]:
    path = path_of(given) if given is not None else None
    if path is not None:
        yield from _makers(where, path + rest, deep - 1)
    else:
        yield from (None,) if rest else _made(where, given, deep)


def _bound(function: Reading, path: str, deep: int) -> Iterator[Scope | None]:
    """What the assignments of one function make: the object itself, or an item of what it is an item of."""
    names = definitions_of(function)
    made = [one for one in names.every(path) if not one.adds]
    for one in made:
        yield from _made(function, None if one.at is not None or one.each else one.value, deep)
    whole, _, key = path[:-1].rpartition("[")
    for one in names.every(whole) if path.endswith("]") and not made else ():
        if one.adds:
            yield from _made(function, one.value if isinstance(one.node, ast.Assign) else None, deep)
        elif one.at is not None or one.each:
            yield None
        else:
            for item in _items(one.value, key):
                yield from _made(function, item, deep)


def _items(value: ast.expr, key: str) -> Iterator[ast.expr | None]:
    match value:
        case ast.Dict(keys=keys, values=values):
            named = [its for name, its in zip(keys, values, strict=True) if name is not None and written(name) == key]
            yield from named or values
        case ast.List(elts=items) | ast.Tuple(elts=items):
            yield from items
        case ast.DictComp(value=item) | ast.ListComp(elt=item):
            yield item
        case ast.Call(func=ast.Name(id="defaultdict"), args=[ast.Lambda(body=item)]):
            yield item
        case ast.Call(func=ast.Name(id="defaultdict"), args=[ast.Name() as cls]):
            yield ast.Call(func=cls, args=[], keywords=[])
        case ast.Call(func=ast.Name(id="dict" | "OrderedDict"), args=[], keywords=[]):
            return
        case _:
            yield None


def _made(where: Reading, value: ast.expr | None, deep: int) -> Iterator[Scope | None]:
    """DiceLoss of DiceLoss().to(device), or of a name that stands for it."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in SAME:
        value = value.func.value
    path = path_of(value) if value is not None else None
    if path is not None and deep:
        yield from _makers(where, path, deep - 1)
        return
    made = path_of(value.func) if isinstance(value, ast.Call) else None
    yield where.scope.class_scope(where.scope.dotted(made), derived=True) if made is not None else None
