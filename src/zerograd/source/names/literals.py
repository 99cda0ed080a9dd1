"""What a call says by itself: train(is_training=True) answers `if is_training:` inside."""

import ast
from collections.abc import Iterator

from zerograd.source.names.scopes import FunctionNode


def read_literals(call: ast.Call, function: FunctionNode, *, skip: bool) -> Iterator[tuple[str, bool]]:
    """The tests on parameters that a call answers by what it passes, or leaves to a default."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)][skip:]
    given = _defaults(function)
    given |= dict(zip(names, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    unclear = any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        k.arg is None for k in call.keywords
    )
    for name, value in given.items() if not unclear else ():
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            yield name, value.value
        elif isinstance(value, ast.Constant):
            yield f"{name} is None", value.value is None
            if isinstance(value.value, str | int):
                yield f"{name} == {value.value!r}", True


def default_of(function: FunctionNode, name: str) -> ast.expr | None:
    """What a parameter is if it is not given."""
    return _defaults(function).get(name)


def _defaults(function: FunctionNode) -> dict[str, ast.expr]:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    defaults = function.args.defaults
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) if defaults else {}
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return given | {argument.arg: default for argument, default in pairs if default is not None}
