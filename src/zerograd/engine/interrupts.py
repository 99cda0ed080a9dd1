"""Ctrl-C waits until a commit has ended: one that arrived inside optimizer.step() would tear the weights.

The first one is held and delivered afterwards; whoever presses again is not kept waiting.
"""

from signal import SIGINT, raise_signal
from types import FrameType, TracebackType

try:
    # Steps take microseconds, and the wrappers of `signal` turn numbers into enums and back: 6 us a commit, against 1.
    from _signal import getsignal, signal  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # a Python that is not CPython
    from signal import getsignal, signal

_INTERRUPT = int(SIGINT)


class Held:
    """`with Held():`, in the main thread; in others nothing has to be held, for signals never reach them."""

    __slots__ = ("_pending", "_usual")

    def __enter__(self) -> None:
        self._pending = False
        self._usual = getsignal(_INTERRUPT)
        if callable(self._usual):  # else it is ignored, or deadly, or not Python's: nothing that we could hold
            try:
                signal(_INTERRUPT, self._hold)
            except ValueError:  # not the main thread
                self._usual = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if callable(self._usual):
            signal(_INTERRUPT, self._usual)
            if self._pending:
                raise_signal(SIGINT)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        if self._pending and callable(self._usual):
            self._usual(number, frame)
        self._pending = True
