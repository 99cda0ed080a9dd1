"""Which losses are worth taking apart: sums, and what was cut off as a whole. Most are what a criterion returned."""

import ast
from collections.abc import Callable
from functools import lru_cache
from math import inf

from zerograd.source.text.cutting import cuts_in
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import is_term
from zerograd.source.values.callers import called_or_read
from zerograd.source.values.definitions import Definition, definitions_of
from zerograd.source.values.reading import Reading

_CUTTING = frozenset({"item", "detach", "data", "numpy", "tolist", "tensor", "Tensor", "FloatTensor", "from_numpy"}) | {
    "argmax",
    "argmin",
    "requires_grad_",
}
_FEW = 20
_MadeBy = Callable[[ast.Name], list[Definition]]


def suspects(losses: list[ast.expr], function: Reading) -> list[ast.expr]:
    """Those that may have lost a term; with one of a name, all of that name."""
    names, seen = definitions_of(function), set[str]()

    def anywhere(name: ast.Name) -> list[Definition]:
        new = name.id not in seen
        seen.add(name.id)
        return names.every(name.id) if new else []

    def reaching(name: ast.Name) -> list[Definition]:
        made = names.every(name.id)
        if len(made) < 2:
            return made
        reached = names.reaching(name.id, name)  # loss = loss.item(), behind its backward(), is another's
        return [*reached.here, *reached.around] if reached is not None else []

    # First by whatever assignment has made them: one look at each of those, where hundreds of losses go backward.
    if not _is_suspect(losses, anywhere, function):
        return []
    found = {path_of(loss) or id(loss) for loss in losses if _is_suspect([loss], reaching, function, most=_FEW)}
    return [loss for loss in losses if (path_of(loss) or id(loss)) in found]


def _is_suspect(losses: list[ast.expr], made_by: _MadeBy, function: Reading, *, most: float = inf) -> bool:
    """Whether one of them is a sum, or cut off, as far as `most` of what they are made of shows."""
    pending = [*losses]
    for value in pending:  # it grows on the way
        if isinstance(value, ast.Name):
            made = made_by(value) if len(pending) < most else []
            grown = any(isinstance(one.node, ast.AugAssign) for one in made)
            parts = None if grown else [one.value for one in made]
        else:
            parts = _parts(value, function)
        if parts is None:
            return True
        pending += parts
    return False


def _parts(value: ast.expr, function: Reading) -> list[ast.expr] | None:
    """What a loss is made of; None: it is a sum, or cut off."""
    match value:
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.Compare():
            return None
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="mean" | "sum"), args=[inner, *_]):
            return [inner]
        case ast.UnaryOp(operand=inner):
            return [inner]
        case ast.Call(func=ast.Attribute() | ast.Name()) if _cuts(value) or _is_read(value, function):
            return None
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "F" | "nn")), args=args)
            | ast.Call(func=ast.Name(), args=args)
        ):
            return [one for one in args if isinstance(one, ast.Name)]
        case ast.Call(func=ast.Attribute(value=inner)):
            return [inner]
    return []


def _is_read(call: ast.Call, function: Reading) -> bool:
    """Whether it runs a function of the project that cuts something off, by its words."""
    path = path_of(call.func)
    run = called_or_read(path, function) if path is not None and is_term(path.lower()) else None
    return run is not None and _cuts_off(run.node)


@lru_cache(maxsize=32)  # many losses are made by the same few, and to write a whole function takes long
def _cuts_off(function: ast.AST) -> bool:
    return cuts_in(written(function))


def _cuts(value: ast.expr) -> bool:
    parts = below(value)
    asked = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    told = {part.arg for part in parts if isinstance(part, ast.keyword)}
    return "requires_grad" in told or not asked.isdisjoint(_CUTTING)
