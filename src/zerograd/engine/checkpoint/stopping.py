"""SIGTERM: the step under way is finished, everything is saved, and the process leaves with a status of its own."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

STOPPED = 75  # EX_TEMPFAIL of sysexits.h: "try again": start it once more and it goes on


class Request:
    """Whether somebody has asked this process to stop. In threads other than the main one nobody can.

    One that was withdrawn swallows nothing. Somebody may have kept its handler, to call it or to put it back; it then
    hands the signal on to what was there before.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self.made = False
        self._tell = tell
        self._withdrawn = False
        self._before: Any = signal.SIG_DFL
        with suppress(ValueError):
            # None: not of Python, which cannot put it back
            self._before = signal.signal(signal.SIGTERM, self._note) or signal.SIG_DFL

    def withdraw(self) -> None:
        """Let SIGTERM be what it was."""
        self._withdrawn = True
        if signal.getsignal(signal.SIGTERM) == self._note:
            with suppress(ValueError):  # in another thread than the main one
                signal.signal(signal.SIGTERM, self._still_valid())

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._withdrawn:
            self._hand_on(number, frame)
            return
        self.made = True
        self._tell()

    def _hand_on(self, number: int, frame: FrameType | None) -> None:
        before = self._still_valid()
        if callable(before):
            before(number, frame)
        elif before == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _still_valid(self) -> Any:
        """What was there before this one, without those that were withdrawn since."""
        before = self._before
        while isinstance(owner := getattr(before, "__self__", None), Request) and owner._withdrawn:
            before = owner._before
        return before
