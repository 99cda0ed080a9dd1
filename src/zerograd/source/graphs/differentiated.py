"""Whether a sum or a list of values with their graphs is itself differentiated, here or by whoever is handed it."""

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache

from zerograd.core.events import Kind
from zerograd.source.graphs.living import is_number
from zerograd.source.text.nodes import Nodes, below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import called
from zerograd.source.values.reading import Reading

# Of those who cannot be read: grad(total, alphas), learner.learn(total), meta.minimize(total).
_GOES = pattern(
    r"(^|[._])(\w*backward\w*|grad|jacobian|hessian|hvp|vjp|\w*descend|descent|minimi[sz]e\w*|optimi[sz]e\w*|learn\w*"
    r"|(outer|meta|arch)_\w+)$"
)


def feeds_a_loss(function: Reading, total: str, losses: Collection[str]) -> bool:
    """Whether the sum is itself differentiated later, under whatever name."""
    deposited = {path_of(part) for node in _goers(function) for part in below(node)}
    reached, grows = {total}, True
    uses = _uses(function)
    while grows:
        named = {name for name, parts in uses if not reached.isdisjoint(parts)}
        grows, reached = not named <= reached, reached | named
    return not reached.isdisjoint(deposited) or not (reached - {total}).isdisjoint(losses)


@lru_cache(maxsize=4)  # asked for one sum of a function after the other
def _uses(function: Reading) -> list[tuple[str, set[str | None]]]:
    """Every name that is assigned, with what it is made of."""
    made = [(target, node.value) for node in function.of(ast.Assign) for target in node.targets]
    made += [(node.target, node.value) for node in function.of(ast.AugAssign)]
    made = [(target, value) for target, value in made if not is_number(value, function.scope)]
    return [(path, {path_of(part) for part in below(value)}) for target, value in made if (path := path_of(target))]


@lru_cache(maxsize=4)
def _goers(function: Reading) -> list[ast.AST]:
    """Where it goes backward, or hands something to whoever does."""
    found: list[ast.AST] = [act.node for act in function.having(Kind.DEPOSIT) if act.node is not None]
    found += [call for call in function.of(ast.Call) if goes_through(call, function)]
    return found + [part for call in function.of(ast.Call) for part in call.args if isinstance(part, ast.Lambda)]


def goes_through(call: ast.Call, function: Reading) -> bool:
    """Whether what a call is handed may be differentiated by it."""
    path = path_of(call.func) or ""
    if _GOES.search(path):
        return True
    callee = called(path, function.scope) if call.args or call.keywords else None
    return callee is not None and any(_GOES.search(name) for name in _named(callee.node))


def _named(node: ast.AST) -> Iterator[str]:
    """loss.backward, torch.stack(losses).mean().backward"""
    for call in Nodes(node).of(ast.Call):
        yield call.func.attr if isinstance(call.func, ast.Attribute) else path_of(call.func) or ""
