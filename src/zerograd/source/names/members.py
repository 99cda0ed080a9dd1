"""The optimizers of a list that is written out: `for opt in opts` is one after the other, of `opts = [one, two]`."""

import ast
from collections.abc import Iterable
from functools import lru_cache

from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_OPTIMIZERS = pattern(r"opti?m\w*$|opts?$")
_CHANGES = frozenset({"append", "extend", "insert", "remove", "pop", "clear"})


def members_of(over: ast.expr, scope: Scope, function: ast.AST) -> tuple[str, ...]:
    """What a loop runs over, by their own names; none if somebody may have changed it, if it is made of others, or if
    nobody calls them by these names: then the list is one thing."""
    path = path_of(over)
    if path is None:
        return _named(over) or ()  # the names are in the text
    if not _OPTIMIZERS.search(path.lower()):
        return ()
    if path.startswith("self.") and scope.owner is not None:
        return _listed(path, scope.owner)
    return _made(path, below(function))


@lru_cache(maxsize=4)  # the same list is gone through in several methods
def _listed(path: str, owner: Scope) -> tuple[str, ...]:
    methods = [method for cls in owner.lineage() for method in cls.functions.values()]
    return _made(path, (node for method in methods for node in below(method.node)))


def _made(path: str, nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    made, added, called = [], list[str](), set[str | None]()
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value) if any(path_of(target) == path for target in targets):
                made.append(value)
            case ast.AugAssign(target=target) if path_of(target) == path:
                return ()
            case ast.Call(func=ast.Attribute(value=one, attr="step" | "zero_grad"), args=args):
                called |= {path_of(one), *map(path_of, args)}
            case ast.Call(func=ast.Attribute(value=keeper, attr=attr), args=args) if path_of(keeper) == path:
                if attr in _CHANGES:
                    if attr != "append":
                        return ()
                    added.append(path_of(args[0]) or "" if len(args) == 1 else "")
    first = _named(made[0]) if len(made) == 1 else None
    listed = () if first is None or not all(added) else (*first, *added)
    return listed if not called.isdisjoint(listed) else ()


def _named(value: ast.expr) -> tuple[str, ...] | None:
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    paths = tuple(path_of(element) or "" for element in value.elts)
    return paths if all(paths) else None
