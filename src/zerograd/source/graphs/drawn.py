"""Whether a value that is recorded while acting surely has a graph: the logarithm of a probability, a critic's value.

logp = Normal(*self.policy(state)).log_prob(action).sum(-1)      of what a network's output makes
action, logp = self.act(state)                                   what a function of this file returns
def store(self, logp): ...                                       what all the calls in this file hand in
"""

import ast

from zerograd.source.names.scopes import Function
from zerograd.source.text import wording
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import called, calls_of, handed_in
from zerograd.source.values.definitions import Item, definitions_of
from zerograd.source.values.reading import Reading

_DRAWN = frozenset({"log_prob", "entropy"})
_VALUES = pattern(r"(^|[._])(\w*critic|value_?(net(work)?|function|fn|head)|v_?net)$")
_FROZEN = pattern(r"target|old|ema|frozen|ref|fixed")
_TELLS = frozenset({"device", "dtype", "shape", "size", "dim"})  # in what is asked of a tensor: logp.to(s.device)
_DEEP = 8  # from name to name
_FEW = 6  # returns of one function, and calls


def is_drawn(value: ast.expr, function: Reading, at: Item = None, deep: int = _DEEP) -> bool:
    """Whether an expression has a graph, as far as it can be read; `at`: its item at this place."""
    if not deep or function.without_grad(value):
        return False
    match value:
        case ast.Name(id=name):
            return _is_bound(name, function, at, deep - 1)
        case ast.Tuple(elts=items) if at is not None:
            return isinstance(at, int) and at < len(items) and is_drawn(items[at], function, None, deep - 1)
        case ast.UnaryOp(operand=inner, op=ast.USub()) | ast.Subscript(value=inner, slice=ast.Constant() | ast.Slice()):
            return at is None and is_drawn(inner, function, None, deep - 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return any(is_drawn(side, function, None, deep - 1) for side in (left, right))
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _DRAWN:
            return at is None and _is_distribution(inner, function)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if (
            attr in wording.SMOOTH and path_of(inner) != "torch"
        ):
            return not wording.INTEGER.search(written(value)) and is_drawn(inner, function, at, deep - 1)
        case ast.Call():
            return _is_made(value, function, at, deep - 1)
    return False


def _is_bound(name: str, function: Reading, at: Item, deep: int) -> bool:
    made = [one for one in definitions_of(function).every(name) if not one.adds]
    if name in function.scope.parameters:
        given = list(handed_in(function, name)) if not made else []
        return 0 < len(given) <= _FEW and all(one is not None and is_drawn(one, its, at, deep) for its, one in given)
    firsts = [one for one in made if not _is_of(one.value, name)]  # logp = logp.squeeze(0)
    return (
        bool(firsts)
        and all(
            not one.each and is_drawn(one.value, function, one.at if one.at is not None else at, deep) for one in firsts
        )
        and not any(_cuts(one.value) for one in made)
    )


def _is_of(value: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in below(value))


def _cuts(value: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in wording.CUTS - _TELLS for part in below(value))


def _is_made(call: ast.Call, function: Reading, at: Item, deep: int) -> bool:
    """What a function of this file returns on every way, or a critic."""
    path = path_of(call.func) or ""
    callee = called(path, function.scope) if path else None
    if callee is not None and callee.node.name not in ("forward", "__call__"):
        return _returns(callee, function, at, deep)
    critic = (
        _VALUES.search(path) is not None
        and not _FROZEN.search(path)
        and (callee is None or not callee.node.decorator_list)
    )
    return at is None and critic and function.scope.dotted(path) == path


def _returns(callee: Function, function: Reading, at: Item, deep: int) -> bool:
    nodes = function.file.program.nodes(callee.node)
    values = [back.value for back in nodes.of(ast.Return)]
    if callee.scope.module is not function.scope.module or nodes.of(ast.Yield) or not 0 < len(values) <= _FEW:
        return False
    inside = Reading(callee.node, (), callee.scope, function.file)
    return all(one is not None and is_drawn(one, inside, at, deep) for one in values)


def _is_distribution(value: ast.expr, function: Reading) -> bool:
    """Categorical(probabilities), where they are what something of the class's own has made of a state; or what a
    network returns."""
    if isinstance(value, ast.Name):
        made = definitions_of(function).every(value.id)
        return bool(made) and all(_is_distribution(one.value, function) for one in made)
    if not isinstance(value, ast.Call):
        return False
    dotted = function.scope.dotted(path_of(value.func) or "")
    given = [*value.args, *(keyword.value for keyword in value.keywords)]
    return dotted.startswith("torch.distributions.") and any(_is_output(one, function, _DEEP) for one in given)


def _is_output(value: ast.expr, function: Reading, deep: int) -> bool:
    """self.layer(state), F.softmax(self.layer(state), -1), probabilities + 1e-6: what a network has made."""
    if not deep or function.without_grad(value):
        return False
    match value:
        case ast.Name(id=name):
            made = [one for one in definitions_of(function).every(name) if not one.adds]
            firsts = [one for one in made if not _is_of(one.value, name)]
            cut = any(_cuts(one.value) for one in made if one not in firsts)
            return bool(firsts) and not cut and all(_is_output(one.value, function, deep - 1) for one in firsts)
        case ast.BinOp(left=left, right=right):
            return _is_output(left, function, deep - 1) or _is_output(right, function, deep - 1)
        case ast.Starred(value=inner) | ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
            return _is_output(inner, function, deep - 1)
        case ast.Call(func=func):
            path = path_of(func) or ""
            dotted = function.scope.dotted(path)
            if dotted.startswith("torch."):
                last = dotted.rpartition(".")[2]
                return not (last in wording.CUTS or wording.is_made_anew(last)) and any(
                    _is_output(one, function, deep - 1) for one in value.args
                )
            if path and _is_network(path, function):
                return not isinstance(func, ast.Attribute) or func.attr not in wording.CUTS
            if isinstance(func, ast.Attribute) and func.attr in wording.SMOOTH:
                return _is_output(func.value, function, deep - 1)
    return False


def _is_network(path: str, function: Reading) -> bool:
    """self.action_layer(state), policy(state): not a method, which may do anything."""
    return (path.startswith("self.") or wording.is_model(path)) and function.scope.function(path) is None


def acts_quietly(function: Reading, depth: int) -> bool:
    """Whether somebody calls it under no_grad(), or is called so."""
    return any(
        where.without_grad(call) or (depth > 0 and acts_quietly(where, depth - 1)) for where, call in calls_of(function)
    )
