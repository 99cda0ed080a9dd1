"""Autocast for a block: entered and left once, whatever strikes in between."""

from operator import methodcaller

import torch

# Called by loops written in C, which count as they go: there is no instant at which autocast is on and nobody knows.
_enter, _leave = methodcaller("__enter__"), methodcaller("__exit__", None, None, None)


class Casting:
    """On for the block, off for its backwards. What is on already is not entered again, what is off not left."""

    __slots__ = ("_off", "_on")

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self._on = _Once(torch.autocast(device.type, dtype=dtype))
        self._off = _Once(torch.autocast(device.type, enabled=False))

    @property
    def is_on(self) -> bool:
        return self._on.entered

    def enter(self) -> None:
        self._on.enter()

    def leave(self) -> None:
        self._off.leave()
        self._on.leave()

    def suspend(self) -> None:
        self._off.enter()

    def resume(self) -> None:
        self._off.leave()


class _Once:
    __slots__ = ("_context", "_enters", "_leaves")

    def __init__(self, context: torch.autocast) -> None:
        self._context = context
        self._enters: list[object] = []
        self._leaves: list[object] = []

    @property
    def entered(self) -> bool:
        return len(self._leaves) < len(self._enters)

    def enter(self) -> None:
        if not self.entered:
            self._enters.extend(map(_enter, (self._context,)))

    def leave(self) -> None:
        if self.entered:
            self._leaves.extend(map(_leave, (self._context,)))
