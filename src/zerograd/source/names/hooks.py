"""Methods that a class calls and leaves to its subclasses: `self.forward(x, y)` in a class that has no `forward`.

Such a call is kept under the method's name. Where the object is known to be of a subclass that has one, that runs
(see Call.on); elsewhere nothing does.
"""

import ast
from collections.abc import Callable

from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of

_PLAIN = frozenset({"object", "abc.ABC", "ABC"})


class Hooks:
    """Those of one file, each made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Scope, str], Function] = {}

    def read(self, path: str, call: ast.Call, scope: Scope) -> Function | None:
        """What stands for the method that `path` is, if the class has none of that name."""
        if scope.owner is None or not is_hook(path, scope.owner):
            return None
        key = (scope.owner, path)
        if key not in self._made:
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            node = ast.FunctionDef(
                name=path[5:], args=empty, body=[ast.Pass()], decorator_list=[], lineno=call.lineno, col_offset=0
            )
            body = Scope(scope.module, owner=scope.owner)
            body.parameters = ("self", *(f"#{position}" for position in range(len(call.args))))
            self._made[key] = Function(node, body)
        return self._made[key]


def is_hook(path: str, owner: Scope) -> bool:
    """Whether `self.name` is a method that a class and its bases neither have nor keep under that name."""
    if not path.startswith("self.") or path.count(".") > 1:
        return False
    lineage = list(owner.lineage())
    if not all(_is_plain(base, cls) for cls in lineage for base in cls.bases):
        return False
    return not any(path[5:] in cls.functions or path in cls.assigned for cls in lineage)


def _is_plain(base: str, cls: Scope) -> bool:
    """Whether what a base class has is known: it is one of this project, or has nothing of its own."""
    return base in _PLAIN or cls.class_scope(base, derived=True) is not None


def calls_hook(function: Function, nodes_of: Callable[[ast.AST], Nodes], depth: int = 3) -> bool:
    """Whether a method runs one that its class leaves to others, itself or through the methods that it calls."""
    owner = function.scope.owner
    if owner is None or not depth:
        return False
    paths = {path_of(call.func) or "" for call in nodes_of(function.node).of(ast.Call)}
    for path in paths:
        known = owner.method(path[5:]) if path.startswith("self.") else None
        if is_hook(path, owner) if known is None else known.is_abstract or calls_hook(known, nodes_of, depth - 1):
            return True
    return False
