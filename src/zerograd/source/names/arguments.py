"""What a call hands to each parameter of a function of the project."""

import ast
from collections.abc import Iterator

from zerograd.source.names.scopes import Function


def positional(function: Function) -> tuple[str, ...]:
    """The parameters that take what is handed without a name: no `*rest`, and none behind it."""
    taken = function.node.args
    return function.scope.parameters[: len(taken.posonlyargs) + len(taken.args)]


def arguments(call: ast.Call, function: Function) -> Iterator[tuple[str, ast.expr]]:
    """By parameter; what is starred is left out."""
    parameters = positional(function)
    if function.scope.owner is not None and parameters[:1] in (("self",), ("cls",)):
        parameters = parameters[1:]
    yield from zip(parameters, call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)
