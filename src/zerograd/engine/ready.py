"""The gradients of one step on their way from the slots to the optimizers."""

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType

import torch
from torch import Tensor

from zerograd.engine import refusals
from zerograd.engine.gradients import (
    clip_coefficient,
    clip_divisor,
    inverse,
    is_finite,
    not_finite,
    scale,
    total_norm,
    unscale,
)
from zerograd.engine.slots import Slots

Inspect = Callable[[Mapping[str, Tensor]], object]
_LOW = frozenset({torch.float16, torch.bfloat16})
_dtype = attrgetter("dtype")
_ROUNDED = 1.00001  # more than what clip_coefficient() can be wrong by


class Ready:
    """What lies in the slots is the true gradient times `divisor`, if there is one: weights and loss scale.

    Weights are taken out together with the clip, in one multiplication, or earlier if somebody wants to look. A loss
    scale is taken out first, as the loop written by hand does it: its rounding is the same then, and no norm is taken
    of gradients that are 2**40 times as large as they are. Unless the optimizers divide on their own.
    """

    __slots__ = (
        "_bad",
        "_flat",
        "_slots",
        "divisor",
        "folds",
        "found",
        "gradients",
        "grew",
        "measured",
        "norm",
        "scaled",
    )

    def __init__(
        self, slots: Slots, gradients: list[Tensor], divisor: float | Tensor | None, *, scaled: bool, flat: bool
    ) -> None:
        self._slots, self._flat, self.divisor = slots, flat, divisor
        self.scaled = scaled  # a loss scale is in the divisor
        self.norm: Tensor | None = None
        self.found: Tensor | None = None  # 1.0 if they are not finite, on the device. See [Note: deferred verdicts]
        self.folds = False  # whether the optimizers divide by all of it while they read the gradients
        self.grew = False  # low precision, divided by less than 1: finite gradients may have become infinite
        self._bad: Tensor | None = None  # what was seen while the loss scale was taken out
        self.measured = self.gradients = gradients  # what is multiplied; in a flat Step, one buffer for many
        if flat:
            self.measured = slots.gradients()

    def is_single(self) -> bool:
        """Whether optimizers that divide by a float32 divide exactly enough."""
        if isinstance(self.divisor, Tensor) and self.divisor.dtype is torch.float32:
            return True
        return torch.float64 not in map(_dtype, self.gradients)

    def measure(self) -> Tensor:
        """The norm of the true gradient, over each slot's and then over all, as torch does it."""
        if self.scaled and not self.folds:
            self.unscale()
        norm = total_norm(self.measured)
        self.norm = norm if self.divisor is None else (norm / self.divisor).to(norm.dtype)
        return self.norm

    def is_finite(self, *, anew: bool = False) -> bool:
        """Waits for the device. `anew`: they have changed since their norm was taken."""
        if anew:
            return is_finite(self.gradients, None)
        if self._bad is not None:
            return not self._bad.item()
        finite = is_finite(self.gradients, self.norm)
        if finite and self.norm is not None and self.divisor is not None and not math.isfinite(self.norm.item()):
            self.multiply(1.0)  # the norm has overflowed: perhaps only that of the gradients with their weights
            self.measure()
            finite = is_finite(self.gradients, None)
        return finite

    def look(self, *, anew: bool = False) -> None:
        """The same, for the device alone to know."""
        if anew:
            found = not_finite(self.gradients, None)
        else:
            found = self._bad if self.norm is None and self._bad is not None else not_finite(self.gradients, self.norm)
        self.found = found if self.found is None else torch.maximum(self.found, found)

    def unscale(self) -> None:
        """Make the true gradient the one that lies in the slots, and look at it on the way."""
        if isinstance(self.divisor, Tensor):
            self._bad = unscale(self.gradients, inverse(self.divisor))
            self.divisor = None

    def multiply(self, coefficient: float | Tensor) -> None:
        """Shorten the true gradient, and make it the one that lies in the slots."""
        if self.scaled:
            self.unscale()
        if isinstance(self.divisor, float) and self.divisor < 1.0 and not _LOW.isdisjoint(map(_dtype, self.gradients)):
            self.grew = True
        scale(self.gradients, coefficient if self.divisor is None else coefficient / self.divisor)
        self.divisor = None

    def shorten(self, norm: Tensor, limit: float) -> None:
        """To a norm of `limit`; or leave it to the optimizers, which divide anyway."""
        if limit == math.inf:
            self.multiply(1.0)
        elif self.divisor is None and norm.is_cpu and norm.item() * _ROUNDED + 2e-6 < limit:
            return  # the coefficient is exactly 1, and multiplied by that they stay what they are
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

    def coalesce(self) -> None:
        """Sparse gradients get one entry for each element: what is done to entries is then done to the gradient."""
        if any(gradient.is_sparse for gradient in self.gradients):
            for slot in self._slots.parameters:
                if slot.grad is not None and slot.grad.is_sparse:
                    slot.grad = slot.grad.coalesce()
            self.gradients = self.measured = self._slots.gradients()

    def groups(self) -> list[list[Tensor]]:
        """The gradients of each parameter group, none of them twice."""
        seen: set[int] = set()
        found: list[list[Tensor]] = []
        for group in self._slots.groups:
            fresh = [parameter for parameter in group if parameter.grad is not None and id(parameter) not in seen]
            seen.update(map(id, fresh))
            found.append([parameter.grad for parameter in fresh if parameter.grad is not None])
        return [group for group in found if group]

    def show(self, functions: tuple[Inspect, ...]) -> None:
        """Call each with the named gradients, which it may change: what was known of them is known no more.

        Version counters do not tell: a change through `.data` moves none.
        """
        named = self.named()
        _show(functions, named)
        self.norm = self._bad = None
        self.gradients = self._slots.flat.gather() if self._flat else self._slots.gradients()
        self.measured = self._slots.gradients()
        if not self.gradients:
            raise refusals.empty_slots(len(self._slots.parameters))


@torch.no_grad()
def _show(functions: tuple[Inspect, ...], named: Mapping[str, Tensor]) -> None:
    for function in functions:
        function(named)
