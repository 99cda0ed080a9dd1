"""One reduction of everything that lies in the slots: the mean over the ranks.

Flat, so that it is one message and not one per parameter. Each slot adds one number that says whether it holds
anything: what no rank filled stays empty, and what some rank filled is filled on all.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from zerograd.engine.ranks import refusals


class Reduction(Protocol):
    """A copy of the gradients, made before the ranks vote: to run out of memory here is still to fail in time."""

    def average(self, group: dist.ProcessGroup, factor: float) -> None:
        """The mean over the ranks of each one's copy times its factor, back into the slots."""


class Flat:
    """All of them in one message."""

    def __init__(self, slots: Sequence[Tensor]) -> None:
        by_kind: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
        for slot in slots:
            if slot.requires_grad or slot.grad is not None:
                by_kind.setdefault((slot.device, slot.dtype), []).append(slot)
        self._parts = [(some, _flattened(some)) for some in by_kind.values()]

    def average(self, group: dist.ProcessGroup, factor: float) -> None:
        """Divided first, as DDP does: half-precision sums overflow."""
        for slots, flat in self._parts:
            flat.div_(group.size())
            if factor != 1.0:
                flat[: -len(slots)].mul_(factor)
            dist.all_reduce(flat, group=group)
        for slots, flat in self._parts:
            _spread(slots, flat)

    @property
    def nbytes(self) -> int:
        return sum(flat.nbytes for _, flat in self._parts)


def _flattened(slots: list[Tensor]) -> Tensor:
    first = slots[0]
    flat = torch.zeros(sum(slot.numel() for slot in slots) + len(slots), dtype=first.dtype, device=first.device)
    held = flat[-len(slots) :]
    for place, (slot, room) in enumerate(zip(slots, _rooms(slots, flat), strict=True)):
        if slot.grad is not None:
            if slot.grad.is_sparse:
                raise refusals.sparse_across_ranks()
            room.copy_(slot.grad)
            held[place] = 1.0
    return flat


def _spread(slots: list[Tensor], flat: Tensor) -> None:
    held = flat[-len(slots) :].tolist()
    for slot, room, present in zip(slots, _rooms(slots, flat), held, strict=True):
        if present and slot.grad is None:
            slot.grad = room.clone()
        elif slot.grad is not None:
            slot.grad.copy_(room)


def _rooms(slots: list[Tensor], flat: Tensor) -> list[Tensor]:
    """The place of each slot in the flat tensor, in the slot's own shape."""
    sizes = [slot.numel() for slot in slots]
    parts: tuple[Tensor, ...] = torch.split(flat[: sum(sizes)], sizes)  # type: ignore[no-untyped-call, unused-ignore]
    return [room.view(slot.shape) for room, slot in zip(parts, slots, strict=True)]
