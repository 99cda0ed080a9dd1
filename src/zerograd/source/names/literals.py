"""What a call says by itself: train(is_training=True) answers `if is_training:` inside."""

import ast
from collections.abc import Iterator

from zerograd.source.names.scopes import FunctionNode

SAID = "="  # before an answer that stands in the call itself


def read_literals(call: ast.Call, function: FunctionNode, *, skip: bool) -> Iterator[tuple[str, bool]]:
    """The tests on parameters that a call answers by what it passes, or leaves to a default."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)][skip:]
    passed = dict(zip(names, call.args, strict=False))
    passed |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    given = _defaults(function) | passed
    unclear = any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        k.arg is None for k in call.keywords
    )
    for name, value in given.items() if not unclear else ():
        if isinstance(value, ast.Constant) and name in passed and not isinstance(value.value, str | float):
            # What somebody wrote into the call is no setting that may be another one tomorrow.
            yield from ((f"{SAID}{key}", answer) for key, answer in _answers(name, value.value))
        yield from _answers(name, value.value) if isinstance(value, ast.Constant) else ()


def _answers(name: str, value: object) -> Iterator[tuple[str, bool]]:
    if isinstance(value, bool):
        yield name, value
        return
    yield f"{name} is None", value is None
    if isinstance(value, str | int):
        yield f"{name} == {value!r}", True


def default_of(function: FunctionNode, name: str) -> ast.expr | None:
    """What a parameter is if it is not given."""
    return _defaults(function).get(name)


def _defaults(function: FunctionNode) -> dict[str, ast.expr]:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    defaults = function.args.defaults
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) if defaults else {}
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return given | {argument.arg: default for argument, default in pairs if default is not None}
