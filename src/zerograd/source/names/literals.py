"""What a function says of its parameters: their defaults."""

import ast

from zerograd.source.names.scopes import FunctionNode


def default_of(function: FunctionNode, name: str) -> ast.expr | None:
    """What a parameter is if it is not given."""
    return _defaults(function).get(name)


def _defaults(function: FunctionNode) -> dict[str, ast.expr]:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    defaults = function.args.defaults
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) if defaults else {}
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return given | {argument.arg: default for argument, default in pairs if default is not None}
