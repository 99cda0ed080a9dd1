"""Progress of work that lasts: a bar on a terminal, gone without a trace; a line now and then on a pipe."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

_SOON = 1.0  # seconds that need no bar
_LATER = 2.0  # seconds that need no line
_RARER = 3  # times the seconds until the next line: a log of an hour's work has eight
_MANY = 20  # what is less than that gets no line


class Bar:
    """Called with how much is done and how much there is. `lines`: on a pipe, too."""

    def __init__(self, stream: TextIO, *, label: str, lines: bool = True) -> None:
        self._stream = stream
        self._label = label
        self._lines = lines
        self._begin = time.monotonic()
        self._next = _LATER
        self._progress: Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=done)
            return
        spent = time.monotonic() - self._begin
        if self._stream.isatty():
            if spent >= _SOON:
                self._progress = self._start(done, total)
        elif self._lines and spent >= self._next and _MANY <= total > done:
            self._next = spent * _RARER
            print(f"zerograd: {self._label.lower()}: {done:,} of {total:,} files", file=self._stream, flush=True)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _start(self, done: int, total: int) -> "Progress":
        from rich.console import Console  # 100 ms: not before the work has taken ten times that
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(self._label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=Console(file=self._stream), transient=True)
        progress.add_task(self._label, total=total, completed=done)
        progress.start()
        return progress
