"""The launcher while the script runs: it hands on signals, draws the live line, and ends as the script ended."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType

from zerograd.attach.pulse import Reading
from zerograd.attach.terminal import LastRow

_EVERY = 0.25  # seconds between two looks at the desk
_HANDED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")  # sent to us alone, by a scheduler or a person
_SHARED = ("SIGINT", "SIGQUIT")  # a terminal sends them to the script as well: what they mean is the script's affair


def attend(command: list[str], environment: dict[str, str], *, desk: str, row: LastRow | None) -> int:
    """Run the script to its end. Its status; negative: the signal that ended it."""
    with _signals(row) as hand_to, _live(desk, row):
        process = subprocess.Popen(command, env=environment)
        hand_to(process)
        return process.wait()


def end_as(status: int) -> int:
    """Whoever waits for us sees what it would have seen of the script: also by which signal it died."""
    if status < 0 and os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # one dump is enough
        sys.stderr.flush()
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _signals(row: LastRow | None) -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []  # came while there was nobody to hand them to: the script may be running already

    def hand_on(number: int, frame: FrameType | None) -> None:
        if not started:
            early.append(number)
        for process in started:
            process.send_signal(number)

    def hand_to(process: "subprocess.Popen[bytes]") -> None:
        started.append(process)
        for number in early:
            process.send_signal(number)

    def leave(number: int, frame: FrameType | None) -> None:
        pass

    def pause(number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets its terminal back whole; the next look draws again."""
        if row is not None:
            row.give_back()
        os.kill(os.getpid(), signal.SIGSTOP)

    handlers = dict.fromkeys(_HANDED_ON, hand_on) | dict.fromkeys(_SHARED, leave) | {"SIGTSTP": pause}
    known = {getattr(signal, name): handler for name, handler in handlers.items() if hasattr(signal, name)}
    # One that is ignored stays so, here and in the script: that is what nohup asks for.
    before = {
        number: signal.signal(number, handler)
        for number, handler in known.items()
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield hand_to
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


@contextlib.contextmanager
def _live(desk: str, row: LastRow | None) -> Iterator[None]:
    """The live line, from the first backward on: a script that does not train never sees its terminal touched."""
    if row is None:
        yield
        return
    from zerograd.report.live import Past, line, panel  # rich: 50 ms, paid only before a terminal

    over, start, past = threading.Event(), time.monotonic(), Past()
    if row.ours > 1:  # asked for: taken before the script has written anything
        with contextlib.suppress(OSError):
            row.draw(panel(past, steps=0, backwards=0, processes=0, findings=(), seconds=0.0, width=row.width))

    def watch() -> None:
        while not over.wait(_EVERY):
            with contextlib.suppress(OSError):  # the terminal is gone; the script goes on
                seen = Reading.of(desk)
                seconds = time.monotonic() - start
                past.add(seconds, steps=seen.steps, loss=seen.loss, norm=seen.norm)
                if seen.processes:
                    show = partial(panel, past) if row.ours > 1 else line
                    row.draw(
                        show(
                            steps=seen.steps,
                            missed=seen.missed,
                            backwards=seen.backwards,
                            processes=seen.processes,
                            findings=seen.findings,
                            seconds=seconds,
                            width=row.width,
                        )
                    )

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        with contextlib.suppress(OSError):
            row.give_back()
