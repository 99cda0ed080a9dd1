"""The arithmetic of one step: weights belong to micro-batches, losses to deposits.

[Note: deferred normalisation] A micro-batch that weighs w deposits its loss times w / unit; the weights are counted,
and the gradient is divided by total / unit once, at commit. So nothing has to be counted in advance, and any number of
micro-batches, any tail and any mixture of weights gives the exact weighted mean.

[Note: the unit] The unit is the power of two nearest to the heaviest micro-batch of this block so far. So a backward
runs with the loss nearly as it is, whatever the weights are, and never depends on the steps before: that is what
parameter hooks see, and what a loss scale has to fit. When a heavier micro-batch comes, what lies in the slots is
multiplied by the old unit over the new one, a power of two, which rounds nothing. Where the slots themselves are fp16,
whose largest number is 65,504, the unit is near the total so far instead: there the sum, too, has to fit.
"""

import math
from enum import Enum

import torch
from torch import Tensor

from zerograd.errors import StepError

_HUGE = 2.0**960  # from here on the sum of weights may overflow
Number = float | Tensor  # a tensor where only the device knows it: in a captured step


class Weighing(Enum):
    """How the deposits of one step are put together. Decided by the first of them."""

    NONE = "none"  # nothing was deposited yet
    BARE = "bare"  # step.backward(loss): plain PyTorch, losses add
    MEAN = "mean"  # micro-batches are averaged by weight
    SUM = "sum"  # micro_batches(..., reduce="sum"): micro-batches add

    @property
    def told(self) -> str:
        return _TOLD[self]


NONE, BARE, MEAN, SUM = Weighing  # to ask the class for one of them takes Python 3.11 a quarter of a microsecond
_TOLD = {
    BARE: "bare backward(loss) calls",
    MEAN: "weighted micro-batches",
    SUM: "summed micro-batches",
}


class MicroBatch:
    """Items whose losses share a weight. Several deposits of one micro-batch add; it weighs once."""

    __slots__ = ("deposited", "filler", "number", "weighing", "weight")

    def __init__(self, weighing: Weighing, weight: Number, *, filler: bool = False, number: int = 0) -> None:
        self.weighing, self.weight, self.deposited = weighing, weight, False
        self.number = number  # among the items of its group, from 1
        self.filler = filler  # run because other ranks have a micro-batch and this one has none


class Tally:
    """The weights of one step."""

    unit: Number = 0.0  # what weights are divided by; 0 before the first. See [Note: the unit]
    weighing = NONE
    total: Number = 0.0
    ranks = 1.0  # the gradient is a sum divided by this, and the total is that of all ranks
    counted = 0  # micro-batches that deposited
    empty = 0  # micro-batches that weighed nothing

    def require_alike(self, micro: MicroBatch) -> None:
        if self.weighing not in (NONE, micro.weighing):
            raise StepError(
                f"one step mixes {self.weighing.told} and {micro.weighing.told}: their sum has no denominator",
                cure="Give every deposit of the step a weight, or none of them.",
                slug="two-denominators",
            )

    def fit(self, micro: MicroBatch, *, sums_must_fit: bool = False) -> Number:
        """Make the unit fit `micro`. What lies in the slots has to be multiplied by the answer, mostly 1."""
        if micro.weighing is not MEAN or micro.deposited or is_zero(micro.weight):
            return 1.0
        most, unit = self.total + micro.weight if sums_must_fit else micro.weight, self.unit
        if type(most) is type(unit) is float and most <= unit < _HUGE:
            return 1.0
        if type(most) is float and not math.isfinite(float(self.total) + most):
            raise StepError(
                f"the weights of one step add up to more than a number can hold, with one of {micro.weight!r}",
                cure="A weight is the number of items its loss is a mean over: finite, and not negative.",
                slug="weight",
            )
        needed = power_of_two(most)
        return self.change_unit(needed if is_zero(self.unit) else _larger(self.unit, needed))

    def change_unit(self, unit: Number) -> Number:
        """Again, what the slots have to be multiplied by."""
        before, self.unit = self.unit, unit
        return 1.0 if is_zero(before) else before / unit

    def coefficient(self, micro: MicroBatch) -> Number:
        """What the loss is multiplied by. Counts nothing: a deposit that fails does not weigh."""
        if micro.weighing is BARE:
            return 1.0
        if is_zero(micro.weight):
            return 0.0
        return micro.weight / self.unit if micro.weighing is MEAN else 1.0

    def count(self, micro: MicroBatch) -> None:
        """A deposit of `micro` has arrived."""
        self.weighing = micro.weighing
        if not micro.deposited:
            micro.deposited = True
            self.total += micro.weight
            self.counted += 1

    @property
    def denominator(self) -> Number:
        return self.total / (self.unit * self.ranks) if self.weighing is MEAN else 1.0


def checked(weight: object) -> float:
    """A weight as a number; what cannot weigh anything is refused."""
    try:
        number = float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise StepError(
            f"a micro-batch weighs {weight!r}",
            cure="A weight is the number of items its loss is a mean over: finite, and not negative.",
            slug="weight",
        )
    return number


def on_device(weight: Tensor, device: torch.device) -> Tensor:
    """A weight that nobody on the host may ask for. One that is not finite makes the step skip itself."""
    if weight.numel() != 1:
        raise StepError(
            f"a micro-batch weighs a tensor of shape {tuple(weight.shape)}",
            cure="A weight is one number: weight=lambda batch: (batch.labels >= 0).sum().",
            slug="weight",
        )
    return weight.detach().reshape(()).to(device, torch.float64)


def is_zero(number: Number) -> bool:
    """Whether it is known to be 0: what only the device knows may be."""
    return not isinstance(number, Tensor) and number == 0


def power_of_two(weight: Number) -> Number:
    """The nearest one: their quotient is between 0.7 and 1.42."""
    if not isinstance(weight, Tensor):
        return 2.0 ** min(round(math.log2(weight)), 1023)
    mantissa = torch.frexp(weight).mantissa  # from 0.5 to 1, and it divides the weight without rounding
    nearest = weight / torch.where(mantissa < math.sqrt(0.5), mantissa * 2, mantissa)
    return torch.where(weight > 0, nearest, torch.finfo(weight.dtype).tiny)  # what weighs 0 asks for no unit


def _larger(one: Number, other: Number) -> Number:
    if not isinstance(one, Tensor):
        return other.clamp(min=one) if isinstance(other, Tensor) else max(one, other)
    return torch.maximum(one, other) if isinstance(other, Tensor) else one.clamp(min=other)
