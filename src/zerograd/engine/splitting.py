"""A batch that does not fit into memory is halved until it does: the same gradient, from smaller parts.

A try is the whole batch at one size. One that fails leaves nothing: gradients, random state and buffers are as they
were before it, so that the next one sees the same dropout. What had been deposited before the split is laid aside.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor

from zerograd.core.events import Kind
from zerograd.engine import gradients, refusals
from zerograd.engine.batches import cut, rows_of
from zerograd.engine.block import Block
from zerograd.engine.restoring import snapshot
from zerograd.engine.weighing import MicroBatch, Number, Weighing, checked, is_zero

T = TypeVar("T")
# How allocators say it that have no class of errors of their own: the CPU's, cuBLAS, cuDNN, MPS.
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "STATUS_ALLOC_FAILED")


def split(block: Block, batch: T, fn: Callable[[T], Tensor], weight: Callable[[T], float] | None) -> None:
    if block.broken:
        raise refusals.broken_backward()
    rows = rows_of(batch)
    fitted = block.record.fitted
    size = fitted.next_size(rows)
    earlier, unit = [slot.grad for slot in block.slots.parameters], block.tally.unit
    block.laid_aside = any(gradient is not None for gradient in earlier)
    undo = snapshot(frozenset({"rng", "buffers"}), block.slots, block.terms)
    while not _fits(block, _parts(batch, rows, size, weight), fn, last=size == 1):
        undo()
        block.tally.unit = unit
        fitted.failed(size)
        size = math.ceil(size / 2)
    fitted.succeeded(size, rows)
    _add_back(block, earlier, 1.0 if is_zero(unit) else unit / block.tally.unit)
    block.emit(Kind.DEPOSIT, "step.split()")


def _parts(batch: T, rows: int, size: int, weight: Callable[[T], float] | None) -> list[tuple[Any, float]]:
    """Parts of nearly the same size, none above `size`, and what each weighs."""
    count = math.ceil(rows / size) if rows else 0
    edges = [round(rows * place / count) for place in range(count + 1)] if count else []
    parts = [cut(batch, start, stop) for start, stop in pairwise(edges)]
    return [(part, float(rows_of(part)) if weight is None else checked(weight(part))) for part in parts]


def _fits(block: Block, parts: list[tuple[Any, float]], fn: Callable[[Any], Tensor], *, last: bool) -> bool:
    gradients.clear(block.slots.parameters)
    block.guard.open(block.slots)
    inside, total = block.micro, sum(weight for _, weight in parts)
    micros = [MicroBatch(Weighing.MEAN, weight) if inside is None else inside for _, weight in parts]
    try:
        for (part, weight), micro in zip(parts, micros, strict=True):
            block.tally.require_alike(micro)
            if weight:
                loss = fn(part)
                if not (isinstance(loss, Tensor) and loss.requires_grad):
                    raise refusals.detached_loss(loss)
                # Inside a group the micro-batch has its weight already, and its parts have a share in that.
                block.run(loss, micro, part=1.0 if inside is None else weight / total)
    except (MemoryError, RuntimeError) as error:
        if not _is_memory(error):
            raise
        if block.exchange is not None and block.exchange.paced:
            error.add_note("zerograd: split() cannot try again: the other ranks wait in the collectives of this try")
            raise
        if last:
            error.add_note("zerograd: split() could not make the batch smaller: one row does not fit")
            raise
    else:
        for micro in micros:
            if micro.weight:
                block.tally.count(micro)
            else:
                block.tally.empty += 1
        block.loose += len(parts) if inside is None else 0
        return True
    # Here, and not in the handler: there the traceback still holds the activations of the failed try.
    block.broken = False
    gradients.clear(block.slots.parameters)
    if block.slots.device.type not in ("cpu", "meta"):
        torch.get_device_module(block.slots.device).empty_cache()
    return False


def _add_back(block: Block, earlier: list[Tensor | None], factor: Number) -> None:
    """What was laid aside; `factor` brings it to the unit of now."""
    for slot, before in zip(block.slots.parameters, earlier, strict=True):
        if before is not None:
            before = before if factor == 1.0 else before * factor
            slot.grad = before if slot.grad is None else before + slot.grad
    block.laid_aside = False
    block.guard.mark()


def _is_memory(error: Exception) -> bool:
    known = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return known or any(word in str(error) for word in _OUT_OF_MEMORY)
