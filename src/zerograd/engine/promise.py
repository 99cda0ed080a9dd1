"""A step whose fate only the device knows yet.

[Note: deferred verdicts] To ask whether the gradients were finite is to wait for the device. An optimizer that takes
`found_inf` need not be asked for: it leaves everything as it is if they were not. So the answer may come later: it is
sent to the host behind the step, and told when it has arrived, to whoever asks, or at the next step.
"""

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

Tell = Callable[[list[float]], None]
_BEHIND = 8  # steps that the host may be ahead of what it knows: more would hide a divergence, and win nothing


class Promise:
    """Numbers on their way from the device, and what is to be done when they are here."""

    def __init__(self, numbers: Tensor, tell: Tell) -> None:
        self._tell = tell
        self._numbers = numbers.to("cpu", non_blocking=True)
        self._event: torch.cuda.Event | None = None
        if numbers.is_cuda:
            self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._event.record()

    def has_come(self) -> bool:
        return self._event is None or bool(self._event.query())  # type: ignore[no-untyped-call]

    def keep(self) -> None:
        """Wait for them, and tell."""
        if self._event is not None:
            self._event.synchronize()
        self._tell(self._numbers.tolist())


class Promises:
    """In the order of their steps. Whatever one of them raises, it is told once and the others stay."""

    def __init__(self) -> None:
        self._open: deque[Promise] = deque()

    def add(self, promise: Promise) -> None:
        self._open.append(promise)

    def keep(self, *, all_of_them: bool) -> None:
        """All, or those that have come and those that are overdue."""
        while self._open and (all_of_them or len(self._open) > _BEHIND or self._open[0].has_come()):
            self._open.popleft().keep()
