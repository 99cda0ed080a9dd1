"""A step whose fate only the device knows yet.

[Note: deferred verdicts] To ask whether the gradients were finite is to wait for the device. An optimizer that takes
`found_inf` need not be asked: it leaves everything as it is if they were not. So the answer may come later: it is sent
to the host behind the step, and told when it has arrived, to whoever asks, or at the next step.
"""

import time
from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

from zerograd.engine.board import NOT_YET

Tell = Callable[[list[float]], None]
_BEHIND = 4  # steps that the host may be ahead of what it knows: more would hide a divergence, and win nothing
_LOOKS = 2_000  # at a number that should be here, before the device is asked what it is doing: some milliseconds


class Promises:
    """Numbers on their way from the device, in the order of their steps, and what to do when they are here.

    Whatever one of them raises, it is told once and the others stay. The numbers are written into memory that the host
    sees: it looks, instead of waiting for an event.
    """

    def __init__(self) -> None:
        self.waiting: deque[tuple[Tensor, torch.device, Tell]] = deque()
        self._rows: list[Tensor] = []
        self._next = 0

    def add(self, numbers: Tensor, tell: Tell) -> None:
        if not self._rows or self._rows[0].dtype is not numbers.dtype or len(self._rows[0]) != len(numbers):
            # Of the same kind: torch would first convert them on the device.
            board = torch.empty(2 * _BEHIND, len(numbers), dtype=numbers.dtype, pin_memory=numbers.is_cuda)
            self._rows = list(board.unbind())
        row = self._rows[self._next % len(self._rows)]
        self._next += 1
        row.fill_(NOT_YET)
        row.copy_(numbers, non_blocking=True)
        self.expect(row, numbers.device, tell)

    def expect(self, row: Tensor, device: torch.device, tell: Tell) -> None:
        """The device writes this row by itself."""
        self.waiting.append((row, device, tell))

    def keep(self, *, all_of_them: bool) -> None:
        """All, or those that have come and those that are overdue."""
        while self.waiting:
            row, device, tell = self.waiting[0]
            if NOT_YET in row.tolist():
                if not all_of_them and len(self.waiting) < _BEHIND:
                    return
                _wait(row, device)
            self.waiting.popleft()
            tell(row.tolist())


def _wait(row: Tensor, device: torch.device) -> None:
    """For this one, and not for the steps behind it: the device would run dry."""
    for _ in range(_LOOKS):
        if NOT_YET not in row.tolist():
            return
        time.sleep(0)  # let other threads have their turn
    torch.cuda.synchronize(device)  # also tells if it has failed
