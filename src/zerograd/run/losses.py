"""What a loss says about itself: a mean or a sum, over how many items, times which factor.

Read from the last few nodes of its graph (torch 2.13: `NllLossBackward0._saved_reduction`, `_saved_total_weight`,
`DivBackward0._saved_other`). A node that is not known ends the reading: then nothing is claimed.

[Note: bare] A mean is divided before it is taken as well as behind: by weights that sum to 1 over the group, by a
factor inside the square. It is bare if every node from it to the layers that hold the parameters is one of those that
bring no factor. What lies behind these layers is the model's own affair.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

_MEAN, _SUM = 1, 2
_DEEP = 12
_SCALE = "zerograd: loss scale"
_TRANSPARENT = ("ToCopyBackward0", "ViewBackward0", "SqueezeBackward", "AliasBackward0", "ReshapeAliasBackward0")
_MANY = 64  # nodes between a loss and its layers
# What brings no factor of its own: see [Note: bare].
_NO_FACTOR = """
    Abs Alias Amax BinaryCrossEntropy BinaryCrossEntropyWithLogits Clamp ClampMin Clone Elu Exp Expand Expm1 Gather Gelu
    HuberLoss Index IndexSelect KlDiv L1Loss LeakyRelu LinalgVectorNorm Log Log1P LogSigmoid LogSoftmax Logsumexp Max
    Mean Min MseLoss Neg NllLoss NllLoss2D Norm Permute Pow Relu ReshapeAlias Select Sigmoid Silu Slice SmoothL1Loss
    Softmax Softplus Sqrt Squeeze Sum T Tanh ToCopy Transpose Unbind UnsafeView Unsqueeze View
"""
_BARE = frozenset(_NO_FACTOR.split())
_SUMS = ("Add", "Sub")
_WHOLE = ("Mul", "Div", "Cat", "Stack")  # a constant in them may divide, or thin out
_TO_PARAMETERS = ("T", "ToCopy", "Transpose", "Permute", "View")


class Reading(NamedTuple):
    mean: bool | None = None  # None: neither a mean nor a sum that we know
    items: float | None = None
    factor: float = 1.0  # what the mean or sum was multiplied by; 1 / N for a loss divided by N


def read(loss: Tensor) -> Reading:
    """What the graph of `loss` shows. Never waits for a device: a factor that lies on one is not read."""
    node, factor = _mean_or_sum(loss)
    return Reading(factor=factor) if node is None else _reduction(node, node.name())._replace(factor=factor)


def _mean_or_sum(loss: Tensor) -> tuple[Any, float]:
    """The node that may have taken a mean or a sum, and what was multiplied into that; None if it cannot be told."""
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
                return None, factor
            factor = factor / constant if name[0] == "D" else factor * constant
        elif not name.startswith(_TRANSPARENT):
            return node, factor
        node = next((child for child, _ in node.next_functions if child is not None), None)
    return None, factor


def is_bare(loss: Tensor) -> bool:
    """Whether nothing can have divided what `loss` is a mean of. See [Note: bare]."""
    node, _ = _mean_or_sum(loss)
    waiting, seen = [node], {node}
    while waiting:
        node = waiting.pop()
        children = [child for child, _ in node.next_functions if child is not None] if node is not None else []
        if not children or len(seen) > _MANY:
            return False
        if any(map(_leads_to_parameter, children)):
            continue
        if not _brings_no_factor(node, whole=len(children) == len(node.next_functions)):
            return False
        waiting += [child for child in children if child not in seen]
        seen.update(children)
    return True


def _leads_to_parameter(node: Any) -> bool:
    """Whether this is a parameter, perhaps turned or in another precision: what has it for an input is a layer."""
    for _ in range(_DEEP):
        if hasattr(node, "variable"):
            return True
        if _kind(node) not in _TO_PARAMETERS or len(node.next_functions) != 1:
            return False
        ((node, _),) = node.next_functions
    return False


def _brings_no_factor(node: Any, *, whole: bool) -> bool:
    """`whole`: all that goes into it learns."""
    kind = _kind(node)
    if kind in _SUMS:
        return getattr(node, "_saved_alpha", 1) == 1
    if kind in _WHOLE:
        return whole
    # The weights of classes are divided out again by the mean over them; those of items are not.
    weighted = kind.startswith("BinaryCrossEntropy") and getattr(node, "_saved_weight", None) is not None
    return kind in _BARE and not weighted


def _kind(node: Any) -> str:
    """What it is the backward of, without the number of the overload."""
    return str(node.name()).rstrip("0123456789").removesuffix("Backward")


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
