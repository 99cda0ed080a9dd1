"""What a recorded step takes for granted, and whether it is still so.

A CUDA graph reads and writes the memory that was there when it was recorded, with the numbers that Python had then. The
learning rate alone is moved out of it, into a tensor, where the optimizer reads it from there. Whatever else changes
(another group, a frozen parameter, state that was loaded, a momentum) makes the recording worthless: it is made anew.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from operator import attrgetter, is_not, itemgetter
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from zerograd.engine.slots import Slots

_requires_grad, _address = attrgetter("requires_grad"), Tensor.data_ptr


class Rates:
    """The learning rates on the device. In the groups they stay the numbers that schedulers and people know."""

    def __init__(self, optimizers: Sequence[Optimizer], device: torch.device) -> None:
        self._known: list[tuple[dict[str, Any], Tensor]] = []
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                if "lr" in group and ("capturable" in group or group.get("fused")):
                    self._known.append((group, torch.full((), float(group["lr"]), device=device)))
        self._last = [float(group["lr"]) for group, _ in self._known]

    @contextmanager
    def lent(self) -> Iterator[None]:
        """The groups hold the tensors: what is recorded now reads them."""
        told = [group["lr"] for group, _ in self._known]
        for group, rate in self._known:
            group["lr"] = rate
        try:
            yield
        finally:
            for (group, _), number in zip(self._known, told, strict=True):
                group["lr"] = number

    def refresh(self) -> None:
        """Pass on what a scheduler, or somebody, has written into the groups."""
        for place, (group, rate) in enumerate(self._known):
            now = group["lr"]
            if isinstance(now, Tensor):
                rate.copy_(now, non_blocking=True)
            elif now != self._last[place]:
                rate.fill_(now)
                self._last[place] = now

    def covers(self, group: dict[str, Any]) -> bool:
        return any(group is known for known, _ in self._known)


class Baked:
    def __init__(self, optimizers: Sequence[Optimizer], slots: Slots, rates: Rates) -> None:
        self._optimizers, self._slots, self._rates = optimizers, slots, rates
        self._parameters = slots.parameters
        groups = [group for optimizer in optimizers for group in optimizer.param_groups]
        readers = [_reader([key for key in group if self._bakes(group, key)]) for group in groups]
        self._options = [(group, read, read(group)) for group, read in zip(groups, readers, strict=True)]
        self._addresses = list(map(_address, self._parameters))
        self._trainable = list(map(_requires_grad, self._parameters))
        self._state = self._read_state()

    def holds(self) -> bool:
        """Asked before every replay: without a frame of Python for each parameter."""
        if self._slots.current() is not self._slots:
            return False
        if list(map(_address, self._parameters)) != self._addresses:
            return False
        if list(map(_requires_grad, self._parameters)) != self._trainable:
            return False
        state = self._read_state()
        if len(state) != len(self._state) or any(map(is_not, state, self._state)):
            return False
        return all(_same(read(group), then) for group, read, then in self._options)

    def _bakes(self, group: dict[str, Any], key: str) -> bool:
        return key not in _NOT_READ and not (key == "lr" and self._rates.covers(group))

    def _read_state(self) -> list[object]:
        states = chain.from_iterable(optimizer.state.values() for optimizer in self._optimizers)
        return list(chain.from_iterable(map(dict.values, states)))


def _reader(keys: list[str]) -> Callable[[dict[str, Any]], tuple[object, ...]]:
    return itemgetter(keys[0], *keys)  # twice, so that it always returns a tuple


def _same(now: object, then: object) -> bool:
    try:
        return bool(now == then)  # the same objects are equal before anybody asks a tensor
    except RuntimeError:  # other tensors: to compare them would be to wait for the device
        return False


_NOT_READ = ("params", "param_names", "initial_lr")
