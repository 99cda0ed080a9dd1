"""The arithmetic of one step: weights belong to micro-batches, losses to deposits.

[Note: deferred normalisation] A micro-batch that weighs w deposits its loss times w / ref; the weights are counted, and
the gradient is divided by total / ref once, at commit. So nothing has to be counted in advance, and any number of
micro-batches, any tail and any mixture of weights gives the exact weighted mean. `ref` is a power of two near the last
step's total: it changes no rounding, and it keeps low-precision gradients from overflowing on the way.
"""

import math
from enum import Enum

import torch
from torch import Tensor

from zerograd.errors import StepError

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


_TOLD = {
    Weighing.BARE: "bare backward(loss) calls",
    Weighing.MEAN: "weighted micro-batches",
    Weighing.SUM: "summed micro-batches",
}


class MicroBatch:
    """Items whose losses share a weight. Several deposits of one micro-batch add; it weighs once."""

    __slots__ = ("deposited", "filler", "weighing", "weight")

    def __init__(self, weighing: Weighing, weight: Number, *, filler: bool = False) -> None:
        self.weighing, self.weight, self.deposited = weighing, weight, False
        self.filler = filler  # run because other ranks have a micro-batch and this one has none


class Tally:
    """The weights of one step."""

    def __init__(self) -> None:
        self.ref: Number = 0.0  # a power of two near what the last step weighed; 0 before the first
        self.reset()

    def reset(self) -> None:
        self.unit = self.ref  # what this step's weights are divided by. See [Note: deferred normalisation]
        self.weighing = Weighing.NONE
        self.total: Number = 0.0
        self.ranks = 1  # the gradient is the mean over so many, and the total is that of all of them
        self.counted = 0  # micro-batches that deposited
        self.empty = 0  # micro-batches that weighed nothing

    def coefficient(self, micro: MicroBatch) -> Number:
        """What the loss is multiplied by. Counts nothing: a deposit that fails does not weigh."""
        if self.weighing not in (Weighing.NONE, micro.weighing):
            raise StepError(
                f"one step mixes {self.weighing.told} and {micro.weighing.told}: their sum has no denominator",
                cure="Give every deposit of the step a weight, or none of them.",
                slug="two-denominators",
            )
        if micro.weighing is not Weighing.MEAN or is_zero(micro.weight):
            return 1.0
        if is_zero(self.unit):
            self.unit = _power_of_two(micro.weight)
        return micro.weight / self.unit

    def count(self, micro: MicroBatch) -> None:
        """A deposit of `micro` has arrived."""
        self.weighing = micro.weighing
        if not micro.deposited:
            micro.deposited = True
            self.total += micro.weight
            self.counted += 1

    @property
    def denominator(self) -> Number:
        return self.total / (self.unit * self.ranks) if self.weighing is Weighing.MEAN else 1.0

    def settle(self) -> None:
        """The step is over: scale the next one by what this one weighed.

        A skipped step too: one that overflowed because `ref` was too small would else overflow for ever.
        """
        if self.weighing is Weighing.MEAN:
            self.ref = _power_of_two(self.total)


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


def _power_of_two(weight: Number) -> Number:
    if not isinstance(weight, Tensor):
        return 2.0 ** round(math.log2(weight))
    # Exact: the mantissa of a number divides it without rounding. Nothing weighs 0, and 1 does as well.
    return torch.where(weight > 0, weight / torch.frexp(weight).mantissa, 1.0)
