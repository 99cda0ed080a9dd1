"""What lies in tensors: asked in few questions, and never where the question itself could break the program.

Sizes and samples stay on their device until someone reads them, so a loop that is at no fault never waits for an
answer. What cannot be read (meta and fake tensors, a CUDA graph that is being captured) counts as not zero.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import torch
from torch import Tensor

_ENOUGH = 4096  # elements of one tensor in a sample
_PLAIN = (Tensor, torch.nn.Parameter)


class Likeness(Enum):
    """What became of a value between two samples."""

    SAME = "same"  # nothing was written in between
    EMPTIED = "emptied"  # there was something, and now there are zeros
    OTHER = "other"  # something else was written
    UNKNOWN = "unknown"  # zeros both times, which look like any other zeros; or it cannot be read


class Sample(NamedTuple):
    """A few slots' values at one moment, end to end in one tensor, because one `cat` costs less than a clone each."""

    slots: tuple[int, ...]
    lengths: tuple[int, ...]
    values: Tensor

    def pieces(self) -> dict[int, Tensor]:
        return dict(zip(self.slots, torch.split(self.values, list(self.lengths)), strict=True))


def largest(tensors: Iterable[Tensor]) -> list[Tensor | None]:
    """The largest magnitude in each tensor. None where there is no asking."""
    # The largest and not the norm: the squares of small numbers vanish, and a gradient of 1e-30 is a gradient.
    held = [dense(tensor) for tensor in tensors]
    if _capturing():
        return [None] * len(held)
    with torch.no_grad():
        try:
            return list(torch._foreach_norm(held, math.inf))
        except Exception:  # an empty tensor, a layout or a device without the kernel: ask one by one
            return [_largest(tensor) for tensor in held]


def nonzero(sizes: Sequence[Tensor | None]) -> list[bool]:
    """Which of these sizes are not zero. One wait for all of them where they lie on one device."""
    if _capturing():
        return [True] * len(sizes)
    readable = [size for size in sizes if size is not None]
    if len(readable) == len(sizes) > 1:
        try:
            answers: list[bool] = torch.stack(readable).ne(0).tolist()
            return answers
        except Exception:  # several devices, meta, fake: ask one by one, for there may be real ones among them
            pass
    return [_is_nonzero(size) for size in sizes]


def finite(sizes: Iterable[Tensor | None]) -> bool:
    """Whether each of these sizes is a number, or cannot be read."""
    try:
        return all(size is None or math.isfinite(float(size)) for size in sizes)
    except Exception:  # fake, meta, or a graph that is being captured
        return True


def least(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The smaller of two sizes of one slot, still unread."""
    return None if one is None or other is None else torch.minimum(one, other)


def numbers(sizes: Iterable[Tensor | None]) -> list[Tensor | None]:
    """The same, with zero for what is not a number: nobody can say what it was."""
    return [None if size is None else torch.nan_to_num(size, nan=0.0) for size in sizes]


def sample(tensors: Mapping[int, Tensor]) -> Sample | None:
    """The values in these slots, or the beginning of them. None where there is no asking."""
    if not tensors or _capturing():
        return None
    try:
        with torch.no_grad():
            pieces = [_piece(tensor) for tensor in tensors.values()]
            return Sample(tuple(tensors), tuple(map(len, pieces)), torch.cat(pieces))
    except Exception:  # several devices, layouts, subclasses: then nothing is certain that rests on it
        return None


def compared(before: Sample | None, after: Sample | None) -> dict[int, Likeness]:
    """What became of each slot that is in both samples."""
    if before is None or after is None or _capturing():
        return {}
    old, new = before.pieces(), after.pieces()
    return {slot: _likeness(old[slot], new[slot]) for slot in old.keys() & new.keys()}


def rewritten(before: Sample | None, after: Sample | None) -> set[int]:
    """The slots in which something else lies now, and not the same made longer or shorter by a clip or a loss scale."""
    if before is None or after is None or _capturing():
        return set()
    old, new = before.pieces(), after.pieces()
    return {slot for slot in old.keys() & new.keys() if not _proportional(old[slot], new[slot])}


def _proportional(old: Tensor, new: Tensor) -> bool:
    try:
        peak = int(old.abs().argmax())
        rescaled = old * (new[peak] / old[peak])
        return torch.allclose(rescaled, new, rtol=1e-2, atol=1e-3 * float(new.abs().max()))
    except Exception:  # lengths that differ, nothing to divide by, fake tensors
        return False


def _likeness(old: Tensor, new: Tensor) -> Likeness:
    try:
        if not new.any():
            return Likeness.EMPTIED if old.any() else Likeness.UNKNOWN
        return Likeness.SAME if torch.equal(old, new) else Likeness.OTHER
    except Exception:  # fake tensors have no values to compare
        return Likeness.UNKNOWN


def _piece(tensor: Tensor) -> Tensor:
    if tensor.dim() == 1 and type(tensor) in _PLAIN and len(tensor) <= _ENOUGH:
        return tensor  # most of those that are chosen are biases
    piece = dense(tensor)
    while piece.dim() > 1 and piece.numel() > _ENOUGH:
        piece = piece[0]
    return piece.reshape(-1)[:_ENOUGH]


def dense(tensor: Tensor) -> Tensor:
    """The numbers of a tensor that this process holds."""
    local: Tensor = getattr(tensor, "_local_tensor", tensor)  # FSDP2's DTensors hold their shard here
    return local._values() if local.is_sparse else local


def _largest(tensor: Tensor) -> Tensor | None:
    try:
        return torch.linalg.vector_norm(tensor, math.inf) if tensor.numel() else torch.zeros(())
    except Exception:
        return None


def _is_nonzero(size: Tensor | None) -> bool:
    try:
        return size is None or bool(size != 0)
    except Exception:
        return True


def _capturing() -> bool:
    # Reading a value would end the capture with an error, and writing one would be replayed with the graph.
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return started and torch.cuda.is_current_stream_capturing()
