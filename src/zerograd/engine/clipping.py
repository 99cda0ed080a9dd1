"""The ways to clip. Each takes the gradients of a step, and leaves the true gradient, shortened, in the slots."""

from typing import Protocol

import torch

from zerograd.engine.gradients import alike, clip_coefficient, scale, total_norm
from zerograd.engine.ready import Inspect, Ready


class Clip(Protocol):
    measures: bool  # whether the norm of all gradients has to be known

    def __call__(self, ready: Ready) -> None: ...


class ByNorm:
    """By the norm of all of them; one that is limited to infinity is only measured."""

    measures = True

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def __call__(self, ready: Ready) -> None:
        ready.shorten(ready.measure() if ready.norm is None else ready.norm, self._limit)


class ByGroupNorm:
    """Each parameter group by a norm of its own."""

    measures = False

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def __call__(self, ready: Ready) -> None:
        ready.multiply(1.0)
        for group in ready.groups():
            scale(group, clip_coefficient(total_norm(group), self._limit))


class ByValue:
    measures = False

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def __call__(self, ready: Ready) -> None:
        ready.multiply(1.0)
        values = [gradient._values() if gradient.is_sparse else gradient for gradient in ready.gradients]
        for part in alike(values):
            torch._foreach_clamp_min_(part, -self._limit)
            torch._foreach_clamp_max_(part, self._limit)


class ByFunction:
    """A function that changes the named gradients in place."""

    measures = False

    def __init__(self, function: Inspect) -> None:
        self._function = function

    def __call__(self, ready: Ready) -> None:
        ready.show((self._function,))
