"""The gradients of one step, all at once: their norm, whether they are finite, and scaling them."""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import repeat
from operator import attrgetter, is_not
from typing import Any

import torch
from torch import Tensor

_LOW = (torch.float16, torch.bfloat16)
_PRECISE = (torch.float32, torch.float64)
_MIXED = (*_PRECISE, torch.complex64, torch.complex128)  # whose norms torch takes kind by kind, and in that order
_PLAIN = {Tensor}  # the types of gradients that are not sharded
_dtype, _kind = attrgetter("dtype"), attrgetter("device", "dtype", "layout")


def clear(parameters: Iterable[Tensor]) -> None:
    """By None: never by multiplying with zero, which would let one NaN live for ever."""
    for parameter in parameters:
        parameter.grad = None


def total_norm(gradients: list[Tensor], order: float = 2.0) -> Tensor:
    """The norm over all gradients, on the first one's device, in float32 or better.

    Finite fp16 gradients of 40,000 have an infinite norm in fp16. For float32 and float64 gradients, real or complex,
    also mixed, the value is bit for bit that of torch.nn.utils.get_total_norm.
    """
    if set(map(type, gradients)) == _PLAIN:  # asked without a frame of Python for each
        return _norm(gradients, order)
    norms = [_whole(_norm(part, order)) for part in alike(gradients)]
    return norms[0] if len(norms) == 1 else _norm_of_norms(norms, order)


def _norm(gradients: list[Tensor], order: float) -> Tensor:
    """Of gradients that one operation of torch takes together."""
    first = gradients[0].dtype
    if first in _PRECISE and not any(map(is_not, map(_dtype, gradients), repeat(first))):
        try:
            total: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients, order)), order)
            return total
        except (RuntimeError, NotImplementedError):  # some are sparse: to ask each first would cost more than the norm
            pass
    elif all(gradient.dtype in _MIXED and not gradient.is_sparse for gradient in gradients):
        return torch.nn.utils.get_total_norm(gradients, order)
    values = [_summed(gradient) for gradient in gradients]
    norms = torch._foreach_norm([value.float() if value.dtype in _LOW else value for value in values], order)
    return _norm_of_norms(norms, order)


def _norm_of_norms(norms: Sequence[Tensor], order: float) -> Tensor:
    kind = torch.float64 if any(norm.dtype is torch.float64 for norm in norms) else norms[0].dtype
    total: Tensor = torch.linalg.vector_norm(torch.stack([norm.to(norms[0].device, kind) for norm in norms]), order)
    return total


def _whole(norm: Tensor) -> Tensor:
    """Sharded gradients have a sharded norm. By manners: to import the class takes longer than to import torch."""
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm


def alike(gradients: list[Tensor]) -> list[list[Tensor]]:
    """By the mesh that they are sharded over, or not: no operation of torch takes both at once."""
    parts: dict[object, list[Tensor]] = {}
    for gradient in gradients:
        parts.setdefault(_mesh(gradient), []).append(gradient)
    return list(parts.values())


def _mesh(gradient: Tensor) -> Any:
    return getattr(gradient, "device_mesh", None)


def is_finite(gradients: list[Tensor], norm: Tensor | None) -> bool:
    """Whether every element is finite. The one place at which a step waits for its device.

    A finite norm proves it; an infinite one may only have overflowed.
    """
    if norm is not None and math.isfinite(norm.item()):
        return True
    if set(map(type, gradients)) != _PLAIN and any(map(_mesh, gradients)):
        return _shards_are_finite(gradients)
    return not _elements_not_finite(gradients).item()


def not_finite(gradients: list[Tensor], norm: Tensor | None) -> Tensor:
    """1.0 if some element is not finite, else 0.0, and nobody waits for it. A norm that overflows counts as such."""
    if norm is None:
        return _elements_not_finite(gradients)
    # Less than infinity is neither infinity nor NaN. Few and small operations: in a captured step each of them counts.
    found = torch.empty_like(norm, dtype=torch.float32)
    torch.logical_not(norm.lt(math.inf), out=found)
    return found


def _elements_not_finite(gradients: list[Tensor]) -> Tensor:
    """GradScaler's own check looks at all gradients in one call; multiplied by 1 they stay what they are."""
    device = gradients[0].device
    one = _one(device)
    found = torch.zeros_like(one)
    try:
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, one)
    except (RuntimeError, NotImplementedError):  # some are sparse, complex, or elsewhere; an empty one has no maximum
        found = torch.stack([_one_not_finite(_summed(gradient)).to(device) for gradient in gradients]).amax()
    return found


@cache
def _one(device: torch.device) -> Tensor:
    return torch.ones((), dtype=torch.float32, device=device)


def _one_not_finite(values: Tensor) -> Tensor:
    return values.isfinite().all().logical_not().float()


def inverse(scale: Tensor) -> Tensor:
    """As GradScaler.unscale_ computes it (torch 2.13 amp/grad_scaler.py), to the last bit; in a float64 exactly."""
    if scale.is_cpu:  # nobody has to wait for it: the same numbers, without three operations of torch
        number = scale.item()
        return torch.scalar_tensor(1.0 / number if number else math.inf, dtype=scale.dtype)
    if scale.is_mps:  # has no float64
        return scale.reciprocal()
    return scale.double().reciprocal().to(scale.dtype)


def unscale(gradients: list[Tensor], inverse: Tensor) -> Tensor:
    """Multiply all gradients in place as GradScaler.unscale_ does, in the same pass that looks at them.

    1.0 if some element was not finite, else 0.0, on the first one's device.
    """
    found = []
    for (device, dtype, _), values in _by_kind(gradients).items():
        here = torch.zeros_like(_one(device))
        if dtype.is_complex or (dtype is torch.float64 and inverse.dtype is torch.float64):  # torch's takes a float32
            here = torch.stack([_one_not_finite(value) for value in values]).amax()
            torch._foreach_mul_(values, inverse.to(device, dtype))
        else:
            torch._amp_foreach_non_finite_check_and_unscale_(values, here, inverse.to(device, torch.float32))
        found.append(here)
    return found[0] if len(found) == 1 else torch.stack([one.to(found[0].device) for one in found]).amax()


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
    return (norm + 1e-6).reciprocal_().mul_(max_norm).clamp_(max=1.0)  # as torch divides a number by a tensor


def clip_divisor(norm: Tensor, max_norm: float) -> Tensor:
    """The inverse of the coefficient, for optimizers that divide."""
    return (norm + 1e-6).div_(max_norm).clamp_(min=1.0)


def scale(gradients: list[Tensor], coefficient: float | Tensor) -> None:
    """Multiply all gradients in place; by exactly 1.0 nothing is touched."""
    if isinstance(coefficient, float) and coefficient == 1.0:
        return
    for (device, dtype, _), values in _by_kind(gradients).items():
        if isinstance(coefficient, float):
            torch._foreach_mul_(values, coefficient)
        else:
            torch._foreach_mul_(values, coefficient.to(device, torch.float32 if dtype in _LOW else dtype))


def _by_kind(gradients: list[Tensor]) -> dict[tuple[torch.device, torch.dtype, object], list[Tensor]]:
    """What is stored of them, by device, dtype and mesh."""
    alike = set(map(_kind, gradients))  # asked without a frame of Python for each
    if len(alike) == 1 and set(map(type, gradients)) == _PLAIN:
        device, dtype, layout = alike.pop()
        if layout is torch.strided:
            return {(device, dtype, None): gradients}
    kinds: dict[tuple[torch.device, torch.dtype, object], list[Tensor]] = {}
    for gradient in gradients:
        value = gradient._values() if gradient.is_sparse else gradient
        kinds.setdefault((value.device, value.dtype, _mesh(value)), []).append(value)
    return kinds


def _summed(gradient: Tensor) -> Tensor:
    """The elements of the gradient. A sparse one may hold several entries for one of them.

    On a copy: an optimizer that finds the entries already summed rounds otherwise than in a loop written by hand.
    """
    return gradient.coalesce()._values() if gradient.is_sparse else gradient
