"""A helper divides the loss by the number of micro-batches, and the framework divides it once more (ZG105).

accelerator = Accelerator(gradient_accumulation_steps=args.size)
loss = noise_loss(pred, noise, args)        # return per_item.mean() / args.size
accelerator.backward(loss)

Nothing is said unless every way out of the helper divides, by the very number that the Accelerator was told.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.divisors import divides
from zerograd.source.counting.losses import Losses, loss_of
from zerograd.source.groups.each import divides_itself
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading


def detect(function: Reading, losses: Losses, told: str) -> Iterator[Finding]:
    """`told`: the number of micro-batches that this function's Accelerator was told."""
    for act in function.having(Kind.DEPOSIT):
        if not isinstance(act.node, ast.Call) or not divides_itself(act.node, losses):
            continue
        made = _made(loss_of(act.node), function)
        if made is not None and _returns_divided(made, told, function) and not losses.is_one(told):
            yield note(REGISTRY["ZG105"], act.site, certain=True, deposit=act.what, size=told)


def _made(loss: ast.expr | None, function: Reading) -> ast.Call | None:
    """The call that a loss comes from, if nothing else is ever done to it."""
    if isinstance(loss, ast.Name):
        stored = [one for one in function.of(ast.Name) if one.id == loss.id and not isinstance(one.ctx, ast.Load)]
        made = [node.value for node in function.of(ast.Assign) if path_of(node.targets[0]) == loss.id]
        loss = made[0] if len(made) == len(stored) == 1 else None
    return loss if isinstance(loss, ast.Call) else None


def _returns_divided(call: ast.Call, told: str, function: Reading) -> bool:
    helper = _helper(path_of(call.func) or "", function)
    returned = [node.value for node in Nodes(helper.node).of(ast.Return)] if helper is not None else []
    if helper is None or not returned:
        return False
    given = {name: path for name, value in arguments(call, helper) if (path := path_of(value)) is not None}
    return all(_divisor(value, given) == told for value in returned)


def _helper(path: str, function: Reading) -> Function | None:
    """A function of this project, wherever it stands."""
    scope, elsewhere = function.scope, function.scope.module.elsewhere
    known = scope.function(path)
    if known is not None or elsewhere is None or path.partition(".")[0] not in scope.module.imports:
        return known
    found = elsewhere(scope.dotted(path), False, cutting=True)
    return found if isinstance(found, Function) else None


def _divisor(value: ast.expr | None, given: dict[str, str]) -> str | None:
    """What a value is divided by, in the words of who calls; of what the helper makes itself, nothing is known."""
    match value:
        case ast.BinOp(op=ast.Div(), right=by):
            path = path_of(by)
        case ast.Call(func=func, args=[by]) if divides(func):
            path = path_of(by)
        case _:
            return None
    root, dot, rest = (path or "").partition(".")
    return f"{given[root]}{dot}{rest}" if root in given else None
