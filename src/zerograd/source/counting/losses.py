"""The loss of a backward."""

import ast

from zerograd.source.text.paths import path_of


def loss_of(call: ast.Call) -> ast.expr | None:
    """The loss of `loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`, also by name."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return None
    if call.args and path_of(func.value) is not None:
        return call.args[0]
    for keyword in call.keywords:
        if keyword.arg == "loss":
            return keyword.value
    match func.value:
        case ast.Call(func=ast.Attribute(attr="scale"), args=[loss, *_]):
            return loss
    return func.value
