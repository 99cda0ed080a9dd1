"""What a captured step is called with: tensors, copied into its own memory, and everything else, which it bakes in."""

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from zerograd.engine import refusals

Leaves = list[Any]
Signature = tuple[object, ...]


def read(inputs: tuple[Any, ...]) -> tuple[Leaves, Signature]:
    """The leaves of nested lists, tuples and dicts, and what calls have to have in common to share a recording.

    Asked at every call, so without torch's own walk where lists, tuples and dicts are all that there is.
    """
    leaves: Leaves = []
    try:
        return leaves, tuple(_walk(value, leaves) for value in inputs)
    except _Strange:
        leaves, arrangement = pytree.tree_flatten(inputs)
        return leaves, (arrangement, *(_walk(leaf, []) for leaf in leaves))


class _Strange(Exception):
    """A container that only torch knows how to take apart."""


def _walk(value: Any, leaves: Leaves) -> object:
    kind = type(value)
    if issubclass(kind, Tensor):
        if value.requires_grad:
            raise refusals.not_captured(
                "an input requires a gradient, and it would be copied into the memory of the recording",
                "Give detached inputs.",
            )
        leaves.append(value)
        return value.shape, value.dtype
    if kind is list or kind is tuple:
        return kind, *[_walk(part, leaves) for part in value]
    if kind is dict:
        return kind, *value, *[_walk(part, leaves) for part in value.values()]
    if kind in pytree.SUPPORTED_NODES or hasattr(kind, "_fields"):
        raise _Strange
    leaves.append(value)
    return kind, value


def copied(inputs: tuple[Any, ...], device: torch.device) -> tuple[Any, ...]:
    """The same in memory of the recording's own."""
    return _mapped(inputs, lambda tensor: tensor.to(device).clone())


def moved(inputs: tuple[Any, ...], device: torch.device) -> tuple[Any, ...]:
    return _mapped(inputs, lambda tensor: tensor.to(device, non_blocking=True))


def _mapped(inputs: tuple[Any, ...], function: Any) -> tuple[Any, ...]:
    mapped: tuple[Any, ...] = pytree.tree_map_only(Tensor, function, inputs)
    return mapped
