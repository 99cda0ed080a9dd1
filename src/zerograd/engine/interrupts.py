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

Handler = Callable[[int, FrameType | None], Any]
_INTERRUPT = int(signals.SIGINT)
_NEVER = ("SIGKILL", "SIGSTOP")  # nobody handles these
_NUMBERS = tuple(sorted(int(one) for one in signals.Signals if one.name not in _NEVER))
_main = threading.main_thread().ident

# Python runs handlers in the main thread only, so one transaction at a time holds them; one inside of another has no
# need to.
_holder: object = None
_usual: dict[int, Handler] = {}
_pending: list[int] = []


def hold_signals(holder: object) -> None:
    """From here on what arrives is noted. What is held already stays held."""
    global _holder
    if (_holder is None or getattr(_holder, "over", False)) and threading.get_ident() == _main:
        _holder = holder
        # Without a frame of Python for each: what is found is compared with what was found the last time.
        found = list(map(getsignal, _NUMBERS))
        if found != _found:
            _look(found)
        for number, handler in _callable:
            if handler is not _note:
                _usual[number] = handler
                signal(number, _note)


def release_signals(holder: object) -> None:
    """Every handler is back, and what has arrived is delivered. What is released already stays released."""
    global _holder
    if _holder is holder:
        for number, handler in list(_usual.items()):
            if getsignal(number) is _note:  # else somebody has put another one there meanwhile
                signal(number, handler)
        _usual.clear()
        _holder = None
        if _pending:
            _deliver()


def _deliver() -> None:
    if _pending:
        number = _pending.pop(0)
        try:
            signals.raise_signal(number)
        finally:
            _deliver()


def _note(number: int, frame: FrameType | None) -> None:
    if number == _INTERRUPT and number in _pending and number in _usual:
        _usual[number](number, frame)
    elif number not in _pending:
        _pending.append(number)


def _look(found: list[Any]) -> None:
    """Which handlers are Python's: others are deadly, or ignored, or nothing that we could hold."""
    global _found, _callable
    _callable = [(number, handler) for number, handler in zip(_NUMBERS, found, strict=True) if callable(handler)]
    _found = found


_found: list[Any] = []
_callable: list[tuple[int, Handler]] = []
