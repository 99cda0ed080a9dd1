"""Numbers on their way from a device to the host: sent when they are computed, read when they have come.

To ask a device for a number is to wait for everything that it has been told to do before. So the number is sent behind
what computes it, into memory of the host that the device can write, and somebody looks now and then.
"""

import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

Tell = Callable[[list[float]], None]
_MOST = 64  # that may be on their way: a program that is so far ahead of its device will wait for it anyway


class _Letter(NamedTuple):
    numbers: Tensor
    event: Any  # recorded behind the copy; None on a device that has none: then the next letter must do
    tell: Tell


class Post:
    """Told in the order in which they were sent."""

    def __init__(self) -> None:
        self._letters: deque[_Letter] = deque()

    def send(self, values: Sequence[Tensor], tell: Tell) -> None:
        """Single numbers on one device, as they are now. When they are here, a `collect` calls `tell` with them."""
        first = values[0]
        if any(value.dtype is not first.dtype or value.dim() for value in values):
            dtype = functools.reduce(torch.promote_types, [value.dtype for value in values])
            values = [value.reshape(()).to(dtype) for value in values]
        with torch.no_grad():
            numbers, event = torch.stack(list(values)), None
        if numbers.is_cuda:
            here = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            numbers = here.copy_(numbers, non_blocking=True)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record()
        self._letters.append(_Letter(numbers, event, tell))

    def collect(self, *, all_of_them: bool = False) -> None:
        """What has come; or all, and wait for it."""
        while self._letters:
            first, more = self._letters[0], len(self._letters)
            try:
                here = more > 1 if first.event is None else first.event.query()
                if not here and not all_of_them and more < _MOST:
                    return
                if first.event is not None:
                    first.event.synchronize()
                numbers = first.numbers.tolist()
            except RuntimeError:  # what is wrong with a device, the program will hear from it
                self._letters.popleft()
                continue
            self._letters.popleft()
            first.tell(numbers)
