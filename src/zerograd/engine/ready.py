"""The gradients of one step on their way from the slots to the optimizers."""

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType

import torch
from torch import Tensor

from zerograd.engine.gradients import clip_coefficient, clip_divisor, is_finite, not_finite, scale, total_norm
from zerograd.engine.slots import Slots

Inspect = Callable[[Mapping[str, Tensor]], object]
_version = attrgetter("_version")


class Ready:
    """What lies in the slots is the true gradient times `divisor`, if there is one: weights and loss scale.

    They are taken out together with the clip, in one multiplication, or earlier if somebody wants to look.
    """

    __slots__ = ("_slots", "divisor", "folds", "found", "gradients", "norm")

    def __init__(self, slots: Slots, gradients: list[Tensor], divisor: float | Tensor | None) -> None:
        self._slots, self.gradients, self.divisor = slots, gradients, divisor
        self.norm: Tensor | None = None
        self.found: Tensor | None = None  # 1.0 if they are not finite, on the device. See [Note: deferred verdicts]
        self.folds = False  # whether the optimizers divide by all of it while they read the gradients

    def measure(self) -> Tensor:
        """The norm of the true gradient."""
        norm = total_norm(self.gradients, precise=self._slots.precise)
        self.norm = norm if self.divisor is None else (norm / self.divisor).to(norm.dtype)
        return self.norm

    def is_finite(self) -> bool:
        return is_finite(self.gradients, self.norm, uniform=self._slots.uniform)

    def look(self) -> None:
        """The same, for the device alone to know."""
        self.found = not_finite(self.gradients, self.norm, uniform=self._slots.uniform)

    def multiply(self, coefficient: float | Tensor) -> None:
        """Shorten the true gradient, and make it the one that lies in the slots."""
        scale(self.gradients, coefficient if self.divisor is None else coefficient / self.divisor)
        self.divisor = None

    def shorten(self, norm: Tensor, limit: float) -> None:
        """To a norm of `limit`; or leave it to the optimizers, which divide anyway."""
        if limit == math.inf:
            self.multiply(1.0)
        elif not self.folds:
            self.multiply(clip_coefficient(norm, limit))
        else:
            divisor = clip_divisor(norm, limit)
            self.divisor = divisor if self.divisor is None else self.divisor * divisor

    def named(self) -> Mapping[str, Tensor]:
        """The true gradients by name, to read and to change in place."""
        self.multiply(1.0)
        pairs = zip(self._slots.names, self._slots.parameters, strict=True)
        # Read-only: a gradient put into a dict would go nowhere.
        return MappingProxyType({name: slot.grad for name, slot in pairs if slot.grad is not None})

    def groups(self) -> list[list[Tensor]]:
        """The gradients of each parameter group, none of them twice."""
        seen: set[int] = set()
        found: list[list[Tensor]] = []
        for group in self._slots.groups:
            fresh = [parameter for parameter in group if parameter.grad is not None and id(parameter) not in seen]
            seen.update(map(id, fresh))
            found.append([parameter.grad for parameter in fresh if parameter.grad is not None])
        return [group for group in found if group]

    def show(self, functions: tuple[Inspect, ...]) -> bool:
        """Call each with the named gradients. Whether one of them changed a gradient."""
        named = self.named()
        before = list(map(_version, named.values()))
        _show(functions, named)
        return list(map(_version, named.values())) != before


@torch.no_grad()
def _show(functions: tuple[Inspect, ...], named: Mapping[str, Tensor]) -> None:
    for function in functions:
        function(named)
