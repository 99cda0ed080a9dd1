"""Calls that are named for clipping, and whether they clip at all."""

import ast

from zerograd.core.events import Kind
from zerograd.source.lowering.skeleton import Act, Block, walk
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import below, written
from zerograd.source.text.wording import saying

CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grad_value", "clip_gradients")
# What says that a group of micro-batches is whole: state.sync, self.is_last(), window.full(), do_update.
_ends_group = saying(
    r"sync|last|accum|boundar|ready|complete|full|step|update|flush|(^|_)(end|done)(_|$)"
    r"|^_*(should|needs?|time_to|at_|is_(?!\w*(enabled|available|initialized|main|master|rank|cuda|train|finite|nan)))"
)


def waits_for_group(test: ast.expr, body: Block) -> bool:
    """Whether a clip waits for what may well be the end of a group: `if self.is_last(): clip()`. A setting is the same
    for all micro-batches: `if args.max_norm > 0: clip()`."""
    kinds = {act.kind for act in walk(body) if isinstance(act, Act)}
    if Kind.CLIP not in kinds or not kinds.isdisjoint((Kind.DEPOSIT, Kind.CONSUME)):
        return False
    parts = below(test)
    asked = [part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in parts]
    return any(map(_ends_group, asked)) or any(isinstance(getattr(part, "op", None), ast.Mod) for part in parts)


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
