"""Python's signal handlers wait until a commit has ended: one that raised inside optimizer.step() would tear weights.

Ctrl-C, a time limit, a stop that was asked for: each is noted and delivered afterwards. Whoever presses Ctrl-C a second
time is not kept waiting.
"""

import signal as signals
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

try:
    # Steps take microseconds, and the wrappers of `signal` turn numbers into enums and back: 6 us a commit, against 1.
    from _signal import getsignal, signal  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # a Python that is not CPython
    from signal import getsignal, signal

_INTERRUPT = int(signals.SIGINT)
_NUMBERS = sorted(map(int, signals.valid_signals() - {getattr(signals, name, None) for name in ("SIGKILL", "SIGSTOP")}))
_main = threading.main_thread().ident
Handler = Callable[[int, FrameType | None], Any]


class HeldSignals:
    """Holds them from `hold()` to `release()`, in the main thread: in others Python never runs a handler.

    Both may be called again: what is held is held, what is released is released.
    """

    __slots__ = ("_pending", "_usual")

    def __init__(self) -> None:
        self._usual: dict[int, Handler] = {}
        self._pending: list[int] = []

    def hold(self) -> None:
        if threading.get_ident() != _main:
            return
        for number, handler in _handlers():
            if handler != self._note:
                self._usual[number] = handler
                signal(number, self._note)

    def release(self) -> None:
        """Every handler is back; what has arrived is delivered."""
        while self._usual:
            number, handler = next(iter(self._usual.items()))
            if getsignal(number) == self._note:  # nobody has put another one there meanwhile
                signal(number, handler)
            self._usual.pop(number, None)
        self._deliver()

    def _deliver(self) -> None:
        if self._pending:
            number = self._pending.pop(0)
            try:
                signals.raise_signal(number)
            finally:
                self._deliver()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == _INTERRUPT and number in self._pending and number in self._usual:
            self._usual[number](number, frame)
        elif number not in self._pending:
            self._pending.append(number)


def _handlers() -> list[tuple[int, Handler]]:
    """The handlers that are Python's: others are deadly, or ignored, or nothing that we could hold.

    Asked at every commit, so without a frame of Python: it is compared with what was found the last time.
    """
    global _found, _callable
    found = list(map(getsignal, _NUMBERS))
    if found != _found:
        _callable = [(number, handler) for number, handler in zip(_NUMBERS, found, strict=True) if callable(handler)]
        _found = found
    return _callable


_found: list[Any] = []
_callable: list[tuple[int, Handler]] = []
