"""What a Step was asked for, checked: everything else is refused at once, and not at the first step that needs it."""

import math
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from numbers import Real
from typing import Any

import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from zerograd.core.events import Event
from zerograd.engine import refusals
from zerograd.engine.clipping import ByFunction, ByGroupNorm, ByNorm, ByValue, Clip
from zerograd.engine.ready import Inspect
from zerograd.engine.restoring import WORDS
from zerograd.engine.scaling import Scaling
from zerograd.engine.wrapping import own_scaler
from zerograd.trace.lines import TraceWriter, origin

NONFINITE = ("skip", "raise", "ignore")
REDUCE = ("mean", "sum")
GRADS = ("none", "flat")
SYNC = ("overlap", "commit", "each")
Trace = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Terms:
    optimizers: tuple[Optimizer, ...]
    needs_closure: str  # the optimizer that has to be given one, if there is such
    wrapped: bool  # some of them step another one. See wrapping
    schedulers: tuple[LRScheduler, ...]
    clip: Clip | None
    scaling: Scaling | None
    autocast: torch.dtype | None
    nonfinite: str
    max_skips: float
    inspect: tuple[Inspect, ...]
    flat: bool  # the gradients of a step share one buffer
    isolate: bool
    restore: frozenset[str]
    model: nn.Module | None
    trace: Trace | None
    ranges: bool  # for profilers

    @property
    def fused(self) -> bool:
        """Whether all optimizers divide by a scale on their own, while they read the gradients anyway."""
        if self.wrapped:  # the wrapper would be told by what, and not the optimizer
            return False
        return all(getattr(optimizer, "_step_supports_amp_scaling", False) for optimizer in self.optimizers)


def checked_optimizers(given: object) -> tuple[Optimizer, ...]:
    """At least one optimizer, and none of them twice."""
    optimizers = tuple(given) if isinstance(given, Iterable) else (given,)
    if not optimizers:
        raise refusals.optimizers("a Step was given no optimizer")
    for optimizer in optimizers:
        # By manners, not by class: wrappers (Accelerate's, DeepSpeed's) are not all torch.optim.Optimizers.
        if not (hasattr(optimizer, "param_groups") and callable(getattr(optimizer, "step", None))):
            raise refusals.optimizers(f"a Step was given a {type(optimizer).__name__} where it needs an optimizer")
        if own_scaler(optimizer) is not None:
            raise refusals.own_scaler(type(optimizer).__name__)
    if len(set(map(id, optimizers))) < len(optimizers):
        raise refusals.optimizers("a Step was given the same optimizer twice: it would step twice on one gradient")
    return optimizers


def whose_step_needs_a_closure(optimizers: Sequence[Optimizer]) -> str:
    for optimizer in optimizers:
        try:
            # Of the class: a scheduler puts a wrapper of its own around the optimizer's.
            _, *parameters = signature(type(optimizer).step).parameters.values()
        except (AttributeError, TypeError, ValueError):  # not Python's
            continue
        if any(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters):
            return type(optimizer).__name__
    return ""


def checked_clip(clip: object) -> Clip | None:
    match clip:
        case None:
            return None
        case dict():
            return _clip_of(clip)
        case _ if callable(clip):
            return ByFunction(clip)
        case _ if _is_positive(clip) or clip == math.inf:
            return ByNorm(float(clip))  # type: ignore[arg-type]
    raise refusals.option("clip", clip, _CLIPS)


_CLIPS = (
    'a positive number (the largest norm; infinity only measures it), {"norm": 1.0}, {"norm": 1.0, "per": "group"}, '
    '{"value": 0.5}, a function of the named gradients, or None'
)


def _clip_of(clip: dict[str, Any]) -> Clip:
    match clip:
        case {"norm": limit, "per": "group", **rest} if _is_positive(limit) and not rest:
            return ByGroupNorm(limit)
        case {"norm": limit, **rest} if _is_positive(limit) and not rest:
            return ByNorm(limit)
        case {"value": limit, **rest} if _is_positive(limit) and not rest:
            return ByValue(limit)
    raise refusals.option("clip", clip, _CLIPS)


def checked_schedulers(given: object, optimizers: Sequence[Optimizer]) -> tuple[LRScheduler, ...]:
    schedulers = () if given is None else tuple(given) if isinstance(given, Iterable) else (given,)
    for scheduler in schedulers:
        if isinstance(scheduler, ReduceLROnPlateau):
            raise refusals.plateau()
        if not callable(getattr(scheduler, "step", None)):
            raise refusals.option("scheduler", scheduler, "a learning-rate scheduler, or a list of them")
        owner = getattr(scheduler, "optimizer", None)
        if owner is not None and all(owner is not optimizer for optimizer in optimizers):
            raise refusals.foreign_scheduler()
    return schedulers


def checked_scaling(scaler: object, optimizers: Sequence[Optimizer], nonfinite: str) -> Scaling | None:
    if scaler is None:
        return None
    if not isinstance(scaler, GradScaler):
        raise refusals.option("scaler", scaler, "a torch.amp.GradScaler, or None")
    if not scaler.is_enabled():
        return None
    if nonfinite != "skip":
        raise refusals.scaler_must_skip(nonfinite)
    return Scaling(scaler, optimizers)


def checked_restore(restore: object, model: nn.Module | None) -> frozenset[str]:
    words = frozenset((restore,) if isinstance(restore, str) else restore if isinstance(restore, Iterable) else (None,))
    if not words <= set(WORDS):
        raise refusals.option("restore", restore, f"made of {either(WORDS)}")
    if "buffers" in words and model is None:
        raise refusals.buffers_of_what()
    return words


def checked_inspect(inspect: object) -> tuple[Inspect, ...]:
    if inspect is None:
        return ()
    functions: tuple[Any, ...] = (inspect,)
    if isinstance(inspect, Iterable) and not callable(inspect):
        functions = tuple(inspect)
    if not all(map(callable, functions)):
        raise refusals.option("inspect", inspect, "a function of the named gradients, or a list of them")
    return functions


def checked_trace(trace: Trace | str | os.PathLike[str] | None, owner: object) -> Trace | None:
    if trace is None or callable(trace):
        return trace
    if not isinstance(trace, str | os.PathLike):
        raise refusals.option("trace", trace, "a path, a function that takes an event, or None")
    writer = TraceWriter(os.fspath(trace), about=origin())
    weakref.finalize(owner, writer.close)  # the file is the Step's, and goes with it
    return writer


def check_model(model: object) -> None:
    if not (model is None or isinstance(model, nn.Module)):
        raise refusals.option("model", model, "a torch.nn.Module, or None")


def check_rest(
    *, nonfinite: object, max_skips: object, autocast: object, grads: object, sync: object, ranges: object
) -> None:
    if grads not in GRADS:
        raise refusals.option("grads", grads, either(GRADS))
    if sync not in (None, *SYNC):
        raise refusals.option("sync", sync, f"{either(SYNC)}, or None")
    if nonfinite not in NONFINITE:
        raise refusals.option("nonfinite", nonfinite, either(NONFINITE))
    if not (_is_number(max_skips) and max_skips >= 1):  # type: ignore[operator]
        raise refusals.option("max_skips", max_skips, "a number of at least 1")
    if not isinstance(ranges, bool):
        raise refusals.option("ranges", ranges, "True or False")
    if autocast is not None and not isinstance(autocast, torch.dtype):
        raise refusals.option("autocast", autocast, "a dtype such as torch.bfloat16, or None")


def check_reduce(reduce: object) -> None:
    if reduce not in REDUCE:
        raise refusals.option("reduce", reduce, either(REDUCE))


def _is_positive(value: object) -> bool:
    return _is_number(value) and 0 < value < math.inf  # type: ignore[operator]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)  # clip=True is a slip, not a norm of 1


def either(words: Sequence[str]) -> str:
    *some, last = (f'"{word}"' for word in words)
    return f"{', '.join(some)} or {last}"
