"""What a call says by itself: train(is_training=True) answers `if is_training:` inside."""

import ast
from collections.abc import Iterator, Sequence

from zerograd.source.names.scopes import FunctionNode

SAID = "="  # before an answer that stands in the call itself
_UNCLEAR: dict[str, ast.expr] = {}


def read_literals(
    call: ast.Call, function: FunctionNode, *, skip: bool, others: Sequence[ast.Call] = ()
) -> Iterator[tuple[str, bool]]:
    """The tests on parameters that a call answers by what it passes, or leaves to a default. `others`: all the calls of
    the same name; where they pass different things, somebody chooses between them, and it is a setting all the same."""
    given, passed = _defaults(function), _passed(call, function, skip=skip)
    for name, value in (given | passed).items() if passed is not _UNCLEAR else ():
        if not isinstance(value, ast.Constant):
            continue
        answers = list(_answers(name, value.value))
        yield from answers
        if name in passed and others and not isinstance(value.value, str | float):
            every = [_passed(other, function, skip=skip).get(name) for other in others]
            if all(isinstance(one, ast.Constant) and one.value is value.value for one in every):
                yield from ((f"{SAID}{key}", answer) for key, answer in answers)


def _passed(call: ast.Call, function: FunctionNode, *, skip: bool) -> dict[str, ast.expr]:
    """What a call hands to each parameter; nothing where a star hides which."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return _UNCLEAR
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)][skip:]
    passed = dict(zip(names, call.args, strict=False))
    return passed | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


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
