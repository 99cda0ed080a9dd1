"""What a captured step is called with: tensors, copied into its own memory, and everything else, which it bakes in."""

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from zerograd.engine import refusals

Leaves = list[Any]
Signature = tuple[object, ...]


def flatten(inputs: tuple[Any, ...]) -> tuple[Leaves, Any]:
    """The leaves of nested lists, tuples and dicts, and their arrangement."""
    if all(type(value) is Tensor for value in inputs):  # as it nearly always is
        return list(inputs), len(inputs)
    leaves, arrangement = pytree.tree_flatten(inputs)
    return leaves, arrangement


def arrange(leaves: Leaves, arrangement: Any) -> tuple[Any, ...]:
    if isinstance(arrangement, int):
        return tuple(leaves)
    arranged: tuple[Any, ...] = pytree.tree_unflatten(leaves, arrangement)
    return arranged


def signature(leaves: Leaves, arrangement: Any) -> Signature:
    """Calls of one signature can share a recording."""
    return (arrangement, *map(_kind, leaves))


def _kind(leaf: object) -> object:
    if not isinstance(leaf, Tensor):
        return type(leaf), leaf
    if leaf.requires_grad:
        raise refusals.not_captured(
            "an input requires a gradient, and it would be copied into the memory of the recording",
            "Give detached inputs.",
        )
    return leaf.shape, leaf.dtype


def moved(leaves: Leaves, device: torch.device) -> Leaves:
    return [leaf.to(device, non_blocking=True) if isinstance(leaf, Tensor) else leaf for leaf in leaves]


def copied(leaves: Leaves, device: torch.device) -> Leaves:
    """Memory of the recording's own, filled with these."""
    return [leaf.to(device).clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
