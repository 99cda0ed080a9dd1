"""The gradients of one step, all at once: their norm, whether they are finite, and scaling them."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

Norms = tuple[Tensor, ...] | list[Tensor]
_LOW = (torch.float16, torch.bfloat16)


def clear(parameters: Iterable[Tensor]) -> None:
    """By None: never by multiplying with zero, which would let one NaN live for ever."""
    for parameter in parameters:
        parameter.grad = None


def total_norm(gradients: list[Tensor], order: float = 2.0, *, precise: bool = False) -> Tensor:
    """The norm over all gradients, on the first one's device, in float32 or better.

    Finite fp16 gradients of 40,000 have an infinite norm in fp16. For float32 and float64 gradients the value is bit
    for bit that of torch.nn.utils.get_total_norm. `precise`: the parameters are of one kind, and precise enough.
    """
    parts = [gradients] if precise else alike(gradients)
    norms = [_norm(part, order, precise) for part in parts]
    return norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(_together(norms)), order)


def alike(gradients: list[Tensor]) -> list[list[Tensor]]:
    """By the mesh that they are sharded over, or not: no operation of torch takes both at once."""
    if set(map(type, gradients)) == {Tensor}:
        return [gradients]
    by_mesh: dict[object, list[Tensor]] = {}
    for gradient in gradients:
        by_mesh.setdefault(_mesh(gradient), []).append(gradient)
    return list(by_mesh.values())


def _mesh(gradient: Tensor) -> Any:
    """By manners: to import the class takes longer than to import torch."""
    return getattr(gradient, "device_mesh", None)


def _norm(gradients: list[Tensor], order: float, precise: bool) -> Tensor:
    total: Tensor = torch.linalg.vector_norm(torch.stack(_norms(gradients, order, precise)), order)
    return total.full_tensor() if hasattr(total, "full_tensor") else total  # sharded gradients have a sharded norm


def _norms(gradients: list[Tensor], order: float, precise: bool) -> Norms:
    if precise:
        try:
            return torch._foreach_norm(gradients, order)
        except (RuntimeError, NotImplementedError):  # some are sparse: to ask each first would cost more than the norm
            pass
    values = [_summed(gradient) for gradient in gradients]
    return _together(torch._foreach_norm([value.float() if value.dtype in _LOW else value for value in values], order))


def _together(norms: Norms) -> Norms:
    """On one device, in one dtype."""
    first = norms[0]
    if any(norm.device != first.device or norm.dtype != first.dtype for norm in norms):
        widest = torch.float64 if any(norm.dtype is torch.float64 for norm in norms) else first.dtype
        return tuple(norm.to(first.device, widest) for norm in norms)
    return norms


def is_finite(gradients: list[Tensor], norm: Tensor | None, *, uniform: bool = False) -> bool:
    """Whether every element is finite. The one place at which a step waits for its device.

    A finite norm proves it; an infinite one may only have overflowed. Where nobody has asked for the norm, GradScaler's
    own check looks at all gradients of one kind in one call; multiplied by 1 they stay what they are.
    """
    if norm is not None and math.isfinite(norm.item()):
        return True
    if not uniform and any(map(_mesh, gradients)):
        return _shards_are_finite(gradients)
    if norm is None and uniform:
        device = gradients[0].device
        found, one = torch.zeros((), device=device), torch.ones((), device=device)
        try:
            torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, one)
            return not found.item()
        except (RuntimeError, NotImplementedError):  # some are sparse, or on a device that has no such check
            pass
    return math.isfinite(total_norm(gradients, math.inf).item())


def not_finite(gradients: list[Tensor], norm: Tensor | None, *, uniform: bool = False) -> Tensor:
    """1.0 if some element is not finite, else 0.0, and nobody waits for it. A norm that overflows counts as such."""
    if norm is None and uniform:
        device = gradients[0].device
        found, one = torch.zeros((), device=device), torch.ones((), device=device)
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, one)
        return found
    if norm is None:
        norm = total_norm(gradients, math.inf)
    # Less than infinity is neither infinity nor NaN. Few and small operations: in a captured step each of them counts.
    found = torch.empty_like(norm, dtype=torch.float32)
    torch.logical_not(norm.lt(math.inf), out=found)
    return found


def _shards_are_finite(gradients: list[Tensor]) -> bool:
    """On all ranks. By counting: some shards are empty and have no largest element, and not every maximum knows NaN."""
    from torch.distributed.tensor import DTensor, Partial  # who has sharded gradients has it imported already

    # Over the largest mesh, on which every rank has a part of it: what lies beside the shards is counted there, too.
    mesh = max(filter(None, map(_mesh, gradients)), key=lambda mesh: mesh.size())
    local = [gradient.to_local() if _mesh(gradient) else gradient for gradient in gradients]  # type: ignore[attr-defined]
    counts = [(~_summed(gradient).isfinite()).sum().to(mesh.device_type) for gradient in local]
    return not DTensor.from_local(torch.stack(counts).sum(), mesh, [Partial()] * mesh.ndim).full_tensor().item()


def clip_coefficient(norm: Tensor, max_norm: float) -> Tensor:
    """As torch.nn.utils.clip_grad_norm_ computes it (torch 2.13 nn/utils/clip_grad.py), to the last bit."""
    return torch.clamp(max_norm / (norm + 1e-6), max=1.0)


def clip_divisor(norm: Tensor, max_norm: float) -> Tensor:
    """The inverse of the coefficient, for optimizers that divide."""
    return (norm + 1e-6).div_(max_norm).clamp_(min=1.0)


def scale(gradients: list[Tensor], coefficient: float | Tensor) -> None:
    """Multiply all gradients in place; by exactly 1.0 nothing is touched."""
    if isinstance(coefficient, float) and coefficient == 1.0:
        return
    values = [gradient._values() if gradient.is_sparse else gradient for gradient in gradients]
    if isinstance(coefficient, float):
        for part in alike(values):
            torch._foreach_mul_(part, coefficient)
        return
    by_kind: dict[tuple[torch.device, torch.dtype, object], list[Tensor]] = {}
    for value in values:
        by_kind.setdefault((value.device, value.dtype, _mesh(value)), []).append(value)
    for (device, dtype, _), some in by_kind.items():
        torch._foreach_mul_(some, coefficient.to(device, torch.float32 if dtype in _LOW else dtype))


def _summed(gradient: Tensor) -> Tensor:
    """The elements of the gradient. A sparse one may hold several entries for one of them.

    On a copy: an optimizer that finds the entries already summed rounds otherwise than in a loop written by hand.
    """
    return gradient.coalesce()._values() if gradient.is_sparse else gradient
