"""A step that undoes itself on the device, for optimizers that do not take `found_inf`."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim import Optimizer


def step_unless(found: Tensor, optimizers: Sequence[Optimizer], parameters: Sequence[Tensor]) -> None:
    """All of them step. If something was found, everything that they write to is what it was before.

    The copy costs as much memory as weights and state do; a fused optimizer does without.
    """
    written = [*parameters, *(value for optimizer in optimizers for value in held(optimizer))]
    before = [tensor.detach().clone() for tensor in written]
    for optimizer in optimizers:
        optimizer.step()
    undo = found.bool()
    with torch.no_grad():
        for tensor, old in zip(written, before, strict=True):
            tensor.copy_(torch.where(undo, old, tensor))


def held(optimizer: Optimizer) -> list[Tensor]:
    """The tensors of its state."""
    return [value for values in optimizer.state.values() for value in values.values() if isinstance(value, Tensor)]
