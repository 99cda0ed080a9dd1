"""What a Step may be asked for. Everything else is refused at once, and not at the first step that needs it."""

import math
from collections.abc import Iterable
from numbers import Real

from torch.optim import Optimizer

from zerograd.engine import refusals

NONFINITE = ("skip", "raise", "ignore")
REDUCE = ("mean", "sum")


def checked_optimizers(given: object) -> tuple[Optimizer, ...]:
    """At least one optimizer, and none of them twice."""
    optimizers = tuple(given) if isinstance(given, Iterable) else (given,)
    if not optimizers:
        raise refusals.optimizers("a Step was given no optimizer")
    for optimizer in optimizers:
        # By manners, not by class: wrappers (Accelerate's, DeepSpeed's) are not all torch.optim.Optimizers.
        if not (hasattr(optimizer, "param_groups") and callable(getattr(optimizer, "step", None))):
            raise refusals.optimizers(f"a Step was given a {type(optimizer).__name__} where it needs an optimizer")
    if len(set(map(id, optimizers))) < len(optimizers):
        raise refusals.optimizers("a Step was given the same optimizer twice: it would step twice on one gradient")
    return optimizers


def check_options(*, clip: object, nonfinite: object, max_skips: object) -> None:
    if clip is not None and not (_is_number(clip) and 0 < clip < math.inf):  # type: ignore[operator]
        raise refusals.option("clip", clip, "a positive finite number, or None for no clipping")
    if nonfinite not in NONFINITE:
        raise refusals.option("nonfinite", nonfinite, _either(NONFINITE))
    if not (_is_number(max_skips) and max_skips >= 1):  # type: ignore[operator]
        raise refusals.option("max_skips", max_skips, "a number of at least 1")


def check_reduce(reduce: object) -> None:
    if reduce not in REDUCE:
        raise refusals.option("reduce", reduce, _either(REDUCE))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)  # clip=True is a slip, not a norm of 1


def _either(words: tuple[str, ...]) -> str:
    *some, last = (f'"{word}"' for word in words)
    return f"{', '.join(some)} or {last}"
