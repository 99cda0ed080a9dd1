"""Calls that are named for clipping, and whether they clip at all."""

import ast

from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import written

CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grad_value", "clip_gradients")


def clips_a_list(call: ast.Call, scope: Scope) -> bool:
    """grads = clip_grad_norm_(grads, 1): a function of this project that is named as torch's, and handed gradients."""
    own = isinstance(call.func, ast.Name) and scope.function(call.func.id) is not None
    return own and bool(call.args) and isinstance(call.args[0], ast.Name) and "grad" in call.args[0].id.lower()


def only_measures(call: ast.Call) -> bool:
    """clip_grad_norm_(p, inf) clips nothing: it is asked for the norm."""
    values = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "max_norm")]
    return any("inf" in written(value).lower() for value in values)


def knows_scale(call: ast.Call) -> bool:
    """clip_grad_norm_(p, 1.0 * scaler.get_scale()): the bound is scaled as the gradients are."""
    values = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    return any("scale" in written(value).lower() for value in values)
