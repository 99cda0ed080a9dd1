"""`grads="flat"`: all gradients in one buffer. One memset clears them, one pass scales them.

A deposit is then an addition into the buffer, and not a tensor that autograd hands over: where each step has one
backward that costs what the rest wins. See benchmarks/results/engine.md.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import attrgetter, eq, is_
from typing import Any

import torch
from torch import Tensor

from zerograd.engine import refusals

_version, _grad, _kind = attrgetter("_version"), attrgetter("grad"), attrgetter("device", "dtype")
Kind = tuple[torch.device, torch.dtype]


class Flat:
    """One buffer for each device and dtype; each slot has its view of one."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = parameters
        self._versions: list[int] = []
        self._make()

    def _make(self) -> None:
        parameters = self._parameters
        self._kinds = list(map(_kind, parameters))
        kinds: dict[Kind, list[Tensor]] = {}
        for parameter in parameters:
            kinds.setdefault(_kind(parameter), []).append(parameter)
        self.buffers: list[Tensor] = []
        views: dict[int, Tensor] = {}
        for (device, dtype), some in kinds.items():
            places = list(accumulate((parameter.numel() for parameter in some), initial=0))
            buffer = torch.zeros(places[-1], device=device, dtype=dtype)
            self.buffers.append(buffer)
            for parameter, (start, end) in zip(some, pairwise(places), strict=True):
                # .data: a view with a version counter of its own tells whether something was deposited in it.
                views[id(parameter)] = buffer[start:end].view(parameter.shape).data
        self._views = [views[id(parameter)] for parameter in parameters]

    def lay(self) -> None:
        """The slots hold their views, and the views hold zeros."""
        if self._kinds != list(map(_kind, self._parameters)):  # model.half() keeps the parameters
            self._make()
        for buffer in self.buffers:
            buffer.zero_()
        for parameter, view in zip(self._parameters, self._views, strict=True):
            parameter.grad = view
        self._versions = list(map(_version, self._views))

    def rescale(self, factor: float | Tensor) -> None:
        """Everything in the buffers, behind the views' version counters: those tell where something was deposited."""
        gradients: list[Any] = list(map(_grad, self._parameters))
        parts = self.buffers
        if not all(map(is_, gradients, self._views)):  # some are not in the buffers, or not in the slots. See gather()
            parts = [gradient.data for gradient in gradients if gradient is not None]
        for part in parts:
            part.mul_(factor)

    def gather(self) -> list[Tensor]:
        """The buffers, with every deposit in them; none if there was none. A slot without a deposit is empty again.

        Zeros are not nothing: an optimizer with momentum or weight decay would move the parameter.
        """
        if self._kinds != list(map(_kind, self._parameters)):
            raise refusals.converted_inside()
        gradients: list[Any] = list(map(_grad, self._parameters))
        if all(map(is_, gradients, self._views)) and not any(map(eq, map(_version, self._views), self._versions)):
            return self.buffers
        touched = False
        for parameter, view, version in zip(self._parameters, self._views, self._versions, strict=True):
            gradient = parameter.grad
            if gradient is not None and gradient is not view:  # taken up from a checkpoint, or after memory ran out
                view.copy_(gradient.to_dense() if gradient.is_sparse else gradient)
                parameter.grad = view
            elif view._version == version:
                parameter.grad = None
            touched |= parameter.grad is not None
        return self.buffers if touched else []
