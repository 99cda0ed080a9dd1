"""Memory of the host that the device writes by itself.

[Note: board] Behind a replay nothing should follow but the next one: to send a few numbers to the host takes as long as
several kernels of a small step. So the recording itself ends with the write, into host memory that the device sees;
into another row each time, for the host may be some steps ahead. Which row, a counter on the device knows. It is one
byte wide, and there is a row for each of its values: it starts again by itself.
"""

from typing import Any

import torch
from torch import Tensor

_ROWS = 256
NOT_YET = -1.0  # none of the numbers is ever negative


class Board:
    """Recorded once: `write`. For each replay: `next_row`, before it is launched."""

    def __init__(self, host: Tensor, seen: Tensor) -> None:
        self._seen, self._rows, self._next = seen, host.unbind(), 0
        self._place = torch.zeros(1, dtype=torch.int64, device=seen.device)
        self._low = self._place.view(torch.uint8)[:1]

    def write(self, numbers: Tensor) -> None:
        self._seen.index_copy_(0, self._place, numbers.unsqueeze(0))
        self._low.add_(1)

    def next_row(self) -> Tensor:
        """Where the host will find what the next replay tells."""
        row = self._rows[self._next]
        self._next = (self._next + 1) % _ROWS
        return row.fill_(NOT_YET)


def board(like: Tensor) -> Board | None:
    """For numbers like these; None where the device does not see the host's memory under the same address."""
    try:
        with torch.cuda.device(like.device):
            host = torch.full((_ROWS, len(like)), NOT_YET, dtype=like.dtype, pin_memory=True)
            seen = torch.as_tensor(_Shown(host), device=like.device)
    except (RuntimeError, TypeError, ValueError):  # a build of torch for other devices
        return None
    return Board(host, seen) if seen.data_ptr() == host.data_ptr() else None


class _Shown:
    """Host memory under the protocol by which libraries hand each other memory of the device."""

    def __init__(self, host: Tensor) -> None:
        self._host = host  # lives as long as whoever looks at it
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": tuple(host.shape),
            "strides": None,
            "typestr": f"<f{host.element_size()}",
            "data": (host.data_ptr(), False),
            "version": 2,
        }
