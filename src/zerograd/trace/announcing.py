"""Work on gradients that no hook can follow: whoever does it says what it amounts to, and whoever audits hears it.

A CUDA graph that is replayed runs no Python; one that is captured runs Python and trains nothing.

    with announced(optimizers, (clear, deposit, deposit, consume, clear)):   # what the replay amounts to, in this order
        graph.replay()
    with announced(optimizers, ()):                                          # what is no part of the training
        warm_up_and_capture()
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from zerograd.core.events import Event

Listener = Callable[[Sequence[object], Sequence[Event]], AbstractContextManager[object]]
_listeners: list[Listener] = []
_NOBODY = contextlib.nullcontext()


def announced(optimizers: Sequence[object], events: Sequence[Event]) -> AbstractContextManager[object]:
    """Inside, nobody looks. When it ends without an exception, all slots of `optimizers` have gone through `events`."""
    return _heard(optimizers, events) if _listeners else _NOBODY


@contextlib.contextmanager
def _heard(optimizers: Sequence[object], events: Sequence[Event]) -> Iterator[None]:
    with contextlib.ExitStack() as hearing:
        for listener in list(_listeners):
            hearing.enter_context(listener(optimizers, events))
        yield


def listen(listener: Listener) -> Callable[[], None]:
    """Hear every announcement. Returns what ends it."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)
