"""What a loss says about itself: a mean or a sum, over how many items, times which factor.

Read from the last few nodes of its graph (torch 2.13: `NllLossBackward0._saved_reduction`, `_saved_total_weight`,
`DivBackward0._saved_other`). A node that is not known ends the reading: then nothing is claimed.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

_MEAN, _SUM = 1, 2
_DEEP = 12
_SCALE = "zerograd: loss scale"
_TRANSPARENT = ("ToCopyBackward0", "ViewBackward0", "SqueezeBackward", "AliasBackward0", "ReshapeAliasBackward0")


class Reading(NamedTuple):
    mean: bool | None = None  # None: neither a mean nor a sum that we know
    items: float | None = None
    factor: float = 1.0  # what the mean or sum was multiplied by; 1 / N for a loss divided by N


def read(loss: Tensor) -> Reading:
    """What the graph of `loss` shows. Never waits for a device: a factor that lies on one is not read."""
    node: Any = loss.grad_fn
    factor = 1.0
    for _ in range(_DEEP):
        if node is None:
            break
        name = node.name()
        if _SCALE in node.metadata:
            pass
        elif name in ("DivBackward0", "MulBackward0"):
            constant = _constant(node)
            if constant is None:
                return Reading(None, None, factor)
            factor = factor / constant if name[0] == "D" else factor * constant
        elif not name.startswith(_TRANSPARENT):
            return _reduction(node, name)._replace(factor=factor)
        node = next((child for child, _ in node.next_functions if child is not None), None)
    return Reading(None, None, factor)


def mark_scale(scaled: Tensor) -> None:
    """What `scaler.scale()` has returned: the last thing it did is no factor of the loss. The step divides it out."""
    node: Any = scaled.grad_fn
    if node is not None and node.name() == "MulBackward0":
        node.metadata[_SCALE] = True


def _constant(node: Any) -> float | None:
    """The number that this node multiplies or divides by, if it is one and lies on the CPU."""
    for saved in ("_saved_other", "_saved_self"):
        value = getattr(node, saved, None)
        if isinstance(value, Tensor) and value.dim() == 0 and value.device.type == "cpu" and not value.requires_grad:
            number = float(value)
            return number if number else None
    return None


def _reduction(node: Any, name: str) -> Reading:
    if name == "MeanBackward0":
        return Reading(True, float(getattr(node, "_saved_self_sym_numel", 0) or 0) or None)
    if name == "SumBackward0":
        return Reading(False)
    kind = getattr(node, "_saved_reduction", None)
    if kind not in (_MEAN, _SUM):
        return Reading()
    weight = getattr(node, "_saved_total_weight", None)
    if isinstance(weight, Tensor):
        # On a GPU the number of items is a value, and to read it would be to wait: the targets' number must do.
        target = getattr(node, "_saved_target", None)
        items = float(weight) if weight.device.type == "cpu" and weight.numel() == 1 else _count(target)
        return Reading(kind == _MEAN, items)
    return Reading(kind == _MEAN, _count(getattr(node, "_saved_self", None)))


def _count(tensor: object) -> float | None:
    return float(tensor.numel()) if isinstance(tensor, torch.Tensor) else None
