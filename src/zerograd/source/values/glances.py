"""Whether an object is only looked at under its name, so that nobody else can have it and do more with it.

optimizer.zero_grad(), scheduler = StepLR(optimizer, 10), decay(optimizer)   where decay() reads its param_groups alone
"""

import ast
from collections.abc import Callable, Iterable

from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below, holds, parents_of
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import called

_PRINTS = frozenset({"print", "len", "type", "str", "repr", "id", "isinstance", "hasattr"})
_DEPTH = 2
Parents = dict[ast.AST, ast.AST]
Asks = Callable[[ast.expr, Parents], bool]  # whether a use of the name is all right, by what it stands in


def is_only_asked(path: str, where: ast.AST, scope: Scope, asks: Asks, *, depth: int = _DEPTH) -> bool:
    """Whether every use of a path below `where` is one of those, a test, a message, or a call that does no more."""
    parents = parents_of(where)
    own = _shadowed(path, where, scope)
    for node in below(where):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if path_of(node) == path and not any(holds(one, node) for one in own):
            parent = parents.get(node, where)
            fine = asks(node, parents) or _is_test(parent) or _is_told(parent, node, parents)
            if not fine and (depth <= 0 or not _hands_on(parent, node, parents, scope, asks, depth)):
                return False
    return True


def _shadowed(path: str, where: ast.AST, scope: Scope) -> list[ast.AST]:
    """The functions inside that have a parameter of that name: it is another thing there."""
    inner: Iterable[ast.AST] = (one for one in below(where) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return [one for one in inner if one is not where and path in {arg.arg for arg in _parameters(one)}]


def _parameters(function: ast.AST) -> list[ast.arg]:
    given = getattr(function, "args", None)
    return [*given.posonlyargs, *given.args, *given.kwonlyargs] if isinstance(given, ast.arguments) else []


def _is_test(parent: ast.AST) -> bool:
    """if optimizer:, optimizer is None, not optimizer"""
    if isinstance(parent, ast.Compare):
        return all(isinstance(one, ast.Is | ast.IsNot) for one in parent.ops)
    return isinstance(parent, ast.If | ast.While) or (
        isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    )


def _call_of(parent: ast.AST, node: ast.AST, parents: Parents) -> ast.Call | None:
    """The call that gets it, as it is."""
    call = parents.get(parent) if isinstance(parent, ast.keyword) and parent.arg else parent
    return call if isinstance(call, ast.Call) and call.func is not node else None


def _is_told(parent: ast.AST, node: ast.AST, parents: Parents) -> bool:
    call = _call_of(parent, node, parents)
    return isinstance(parent, ast.FormattedValue) or (call is not None and path_of(call.func) in _PRINTS)


def _hands_on(parent: ast.AST, node: ast.AST, parents: Parents, scope: Scope, asks: Asks, depth: int) -> bool:
    """Whether it is handed to a function of this project that only asks it too."""
    call = _call_of(parent, node, parents)
    function = called(path_of(call.func) or "", scope) if call is not None else None
    if call is None or function is None or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    names = [name for name, given in arguments(call, function) if given is node]
    return (
        len(names) == 1
        and not _keeps(function, names[0])
        and is_only_asked(names[0], function.node, function.scope, asks, depth=depth - 1)
    )


def _keeps(function: Function, name: str) -> bool:
    """Whether it is no plain parameter, or is bound anew."""
    stored = (one for one in below(function.node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return name not in function.scope.parameters or any(one.id == name for one in stored)
