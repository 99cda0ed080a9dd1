"""Sharpness-aware minimisation: a step up along the gradient, a second backward there, and a step down.

optimizer.first_step(zero_grad=True)        both halves consume, and each clears if it is told to
loss_fn(model(x), y).backward()
optimizer.second_step(zero_grad=True)
"""

import ast

from zerograd.source.names.literals import default_of
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import written

HALVES = ("first_step", "second_step")
_TOLD = "zero_grad"


def clears_too(call: ast.Call, name: str, receiver: str, scope: Scope) -> bool | None:
    """Whether half a step clears behind itself; None: nobody can say."""
    for given in (*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == _TOLD)):
        return bool(given.value) if isinstance(given, ast.Constant) else None
    binding = scope.lookup(receiver)
    cls = scope.class_scope(binding.made_by) if binding is not None else None
    method = cls.method(name) if cls is not None else None
    if method is None:
        return None
    default = default_of(method.node, _TOLD)
    if default is None:
        return _TOLD in written(method.node)
    return bool(default.value) if isinstance(default, ast.Constant) else None
