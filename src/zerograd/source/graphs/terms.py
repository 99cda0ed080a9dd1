"""The terms of a loss, where they can be read: each of them has a graph, as the loss has."""

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import attrgetter

from zerograd.source.text import wording
from zerograd.source.text.nodes import Nodes, place
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import called
from zerograd.source.values.reading import Reading

_TERM = pattern(r"loss|(^|[_'])(kl|kld|nll|elbo|bound|bce|mse|err|likelihood|jac|log_?det|recon)(_|'|$)")
_FACTOR = pattern(r"weight|coef|scale|factor|lambda|beta|anneal|rate")


def parts_of(function: Reading, deposits: dict[str, ast.Call]) -> dict[str, ast.Call]:
    """`kl` of `loss = likelihood + beta * kl`, or of `loss, kl = criterion(...)`, named for what it is; with the
    backward that its loss is for."""
    found = dict(deposits)
    known = set(map(_whole, found))
    made: list[ast.Assign | ast.AugAssign] = [*function.of(ast.Assign), *function.of(ast.AugAssign)]
    made.sort(key=attrgetter("lineno", "col_offset"), reverse=True)  # a loss stands behind its terms
    for node in made:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id not in known:
            continue  # most of them
        loss = next((name for target in targets if (name := path_of(target)) in found), None)
        if loss is not None and place(node) < place(found[loss]):
            for name in _names(node.value):
                if isinstance(node, ast.Assign) or _is_computed(function, name):
                    found.setdefault(name, found[loss])
                    known.add(_whole(name))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _holds(targets, found):
            for name, call in list(_handed_back(function, targets[0], node.value, found)):
                found.setdefault(name, call)
                known.add(_whole(name))
    left_out = {*deposits, *(_numbers(function) if len(found) > len(deposits) else ())}
    return {name: call for name, call in found.items() if name not in left_out and names_loss(name)}


def _numbers(function: Reading) -> set[str]:
    """`reg` of `loss, reg = self.losses(x)`, where that returns a number in its place: reg = 0.0; return loss, reg"""
    found: set[str] = set()
    for node in function.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call(func=func)):
                path = path_of(func)
                callee = called(path, function.scope) if path is not None else None
                if callee is not None:
                    inside = Nodes(callee.node)
                    backs = [back.value for back in inside.of(ast.Return)]
                    found |= {
                        one.id
                        for at, one in enumerate(names)
                        if isinstance(one, ast.Name) and backs and all(_is_number(inside, back, at) for back in backs)
                    }
    return found


def _is_number(inside: Nodes, back: ast.expr | None, at: int) -> bool:
    match back:
        case ast.Tuple(elts=items) if at < len(items):
            path = path_of(items[at])
            made = [one.value for one in inside.of(ast.Assign) if path_of(one.targets[0]) == path is not None]
            stored = [one for one in inside.of(ast.Name) if one.id == path and isinstance(one.ctx, ast.Store)]
            value = made[0] if len(made) == len(stored) == 1 else items[at]
            return isinstance(value, ast.Constant)
    return False


def _whole(name: str) -> str:
    """losses of losses['kl']"""
    return name.partition("[")[0]


def _is_computed(function: Reading, name: str) -> bool:
    """Whether something that is called makes it of something: not a setting, nor a number of what was counted."""
    made = [node.value for node in function.of(ast.Assign) if any(path_of(target) == name for target in node.targets)]
    calls = [value for value in made if isinstance(value, ast.Call) and value.args]
    added = [node.value for node in function.of(ast.AugAssign) if path_of(node.target) == name]
    calls += [part for value in added for part in _terms(value) if isinstance(part, ast.Call) and part.args]
    return any((path_of(call.func) or "?") not in wording.BUILTINS for call in calls)


def outputs_of(function: Reading, losses: dict[str, ast.Call]) -> dict[str, ast.Call]:
    """`out` of `out = model(x)` and `loss = criterion(out, y)`, with the backward that goes through it."""
    assigned = [(node.targets[0], node.value) for node in function.of(ast.Assign) if len(node.targets) == 1]
    made = [(path_of(target) or "", value) for target, value in assigned if isinstance(value, ast.Call)]
    judged = {path_of(call.args[0]) or "": losses[loss] for loss, call in made if loss in losses and call.args}
    forwards = {name for name, call in made if name in judged and wording.is_model(path_of(call.func) or "")}
    bound = [name.id for name in function.of(ast.Name) if isinstance(name.ctx, ast.Store)] if forwards else []
    once = {name for name in forwards - losses.keys() if bound.count(name) == 1}
    return {name: deposit for name, deposit in judged.items() if name in once}


@lru_cache(maxsize=1024)  # the same few hundred names stand in all files
def names_loss(name: str) -> bool:
    """Whether it is named for a loss, or a part of one."""
    return _TERM.search(name.lower()) is not None and _FACTOR.search(name.lower()) is None


def _names(value: ast.expr) -> Iterator[str]:
    yield from (name for term in _terms(value) if (name := path_of(term)) is not None)


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from _terms(left)
            yield from _terms(right)
        case ast.UnaryOp(operand=operand):
            yield from _terms(operand)
        case ast.Call(func=ast.Attribute(value=ast.BinOp() | ast.UnaryOp() as value, attr="mean" | "sum")):
            yield from _terms(value)
        case _:
            yield node


def _handed_back(
    function: Reading, target: ast.expr, call: ast.Call, losses: dict[str, ast.Call]
) -> Iterator[tuple[str, ast.Call]]:
    """What a function of this project returns beside a loss, if the loss is made of it."""
    path = path_of(call.func)
    callee = called(path, function.scope) if path is not None else None
    if callee is None:
        return
    own = Nodes(callee.node)
    for back in own.of(ast.Return):
        handed = dict(_items(target, back.value))
        for name, value in handed.items():
            if name in losses:
                made_of = set(summands_of(own, value))
                yield from ((other, losses[name]) for other, its in handed.items() if path_of(its) in made_of)


def _holds(targets: Sequence[ast.expr], losses: dict[str, ast.Call]) -> bool:
    """Whether a loss is among several things that are assigned, or an item of one."""
    target = targets[0] if len(targets) == 1 else None
    if isinstance(target, ast.Name):
        return any(loss.startswith(f"{target.id}[") for loss in losses)
    return isinstance(target, ast.Tuple) and any(path_of(element) in losses for element in target.elts)


def _items(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    """The names that the caller has for what is returned: of a tuple, or of a dictionary."""
    match target, value:
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            yield from ((path_of(name) or "", its) for name, its in zip(names, values, strict=True))
        case ast.Name(id=name), ast.Dict(keys=keys, values=values):
            for key, its in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield f"{name}[{key.value!r}]", its


def summands_of(own: Nodes, value: ast.expr) -> Iterator[str]:
    """The names that a value is a sum of, through the assignments of its function."""
    pending, seen = list(_names(value)), set[str]()
    assigned: dict[str | None, list[ast.expr]] = {}
    for one in own.of(ast.Assign) if pending else ():
        for path in dict.fromkeys(map(path_of, one.targets)):
            assigned.setdefault(path, []).append(one.value)
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            yield name
            made = assigned.get(name, [])
            pending += _names(made[0]) if len(made) == 1 else ()
            added = [node.value for node in own.of(ast.AugAssign) if path_of(node.target) == name]
            pending += [its for value in added for its in _names(value)]
