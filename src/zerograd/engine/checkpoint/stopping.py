"""SIGTERM: the step under way is finished, everything is saved, and the process leaves with a status of its own."""

import signal
from collections.abc import Callable
from types import FrameType

STOPPED = 75  # EX_TEMPFAIL of sysexits.h: "try again": start it once more and it goes on


class Request:
    """Whether somebody has asked this process to stop. In threads other than the main one nobody can."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.made = False
        self._tell = tell
        try:
            self._usual = signal.signal(signal.SIGTERM, self._note)
        except ValueError:
            self._usual = None

    def withdraw(self) -> None:
        """Let SIGTERM be what it was."""
        if self._usual is not None and signal.getsignal(signal.SIGTERM) == self._note:
            signal.signal(signal.SIGTERM, self._usual)
        self._usual = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.made = True
        self._tell()
