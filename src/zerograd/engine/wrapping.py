"""Optimizers in the hands of another: Accelerate's, Fabric's, and whatever else holds one and steps it when it likes.

What a wrapper's step() did is asked of the optimizer inside: one that was not stepped has moved nothing, whatever the
wrapper returned, and a commit that moves nothing is none.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer


class Idle(Exception):
    """A wrapper's step() did nothing."""

    def __init__(self, wrapper: Optimizer) -> None:
        super().__init__(type(wrapper).__name__)


def inner_of(optimizer: Optimizer) -> Optimizer | None:
    """The optimizer that it wraps, which has the same parameters; None if it steps by itself."""
    if type(optimizer).__module__.startswith("torch.optim."):
        return None
    for held in getattr(optimizer, "__dict__", {}).values():
        if held is not optimizer and isinstance(held, Optimizer) and _has_same(held, optimizer):
            return inner_of(held) or (held if hasattr(held, "_optimizer_step_post_hooks") else None)
    return None


def own_scaler(optimizer: Optimizer) -> GradScaler | None:
    """The loss scaler that a wrapper would divide by a second time."""
    scaler = getattr(optimizer, "scaler", None)
    return scaler if isinstance(scaler, GradScaler) and scaler.is_enabled() else None


def acts(optimizers: Sequence[Optimizer]) -> list[Callable[[], object]]:
    """All of them step, some of them wrappers. These first: if one does nothing, then nothing has happened yet."""
    inner = list(map(inner_of, optimizers))
    wrappers = [
        partial(_step, wrapper, inside) for wrapper, inside in zip(optimizers, inner, strict=True) if inside is not None
    ]
    others = [optimizer.step for optimizer, inside in zip(optimizers, inner, strict=True) if inside is None]
    return [*wrappers, *others]


def _step(wrapper: Optimizer, inside: Optimizer) -> None:
    """Refused, unless the optimizer inside was stepped when the wrapper was."""
    stepped = False

    def note(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        nonlocal stepped
        stepped = True

    handle = inside.register_step_post_hook(note)
    try:
        wrapper.step()
    finally:
        handle.remove()
    if not stepped:
        raise Idle(wrapper)


def _has_same(one: Optimizer, other: Optimizer) -> bool:
    """Parameters: a wrapper that keeps copies, or steps only its own share of them, knows what it does."""
    return one.param_groups is other.param_groups or _ids(one) == _ids(other)


def _ids(optimizer: Optimizer) -> set[int]:
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
