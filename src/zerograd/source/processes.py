"""Files read by several processes, their outcomes in order."""

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from zerograd.source.sweep import Outcome, Reader, Settings, Target

_AT_A_TIME = 32  # files handed over at once: neighbours import the same, and Ctrl-C waits for them
_readers: list[Reader] = []  # in a child: its one reader


def read_in_processes(targets: Sequence[Target], settings: Settings, *, jobs: int) -> Iterator[Outcome]:
    """Fewer outcomes than targets if a process dies: whoever asked reads the rest."""
    # Not forked: the caller may have threads, and a lock that one of them holds would stay locked in the child.
    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (settings,))
    try:
        with _interrupts_held():
            outcomes = executor.map(_read, targets, chunksize=min(_AT_A_TIME, -(-len(targets) // jobs)))
        yield from outcomes
    except BrokenProcessPool:
        return
    finally:
        executor.shutdown(cancel_futures=True)


def _begin(settings: Settings) -> None:
    _readers.append(Reader(settings))


def _read(target: Target) -> Outcome:
    return _readers[0].read(target)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Children begun in here never hear Ctrl-C: ending them is the parent's, which hears it a moment later."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # begun later, it would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
