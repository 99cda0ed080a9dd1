"""A progress bar for work that lasts: on a terminal only, after a second, and gone without a trace."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress

_SOON = 1.0  # seconds that need no bar


class Bar:
    """Called with how much is done and how much there is; shows nothing where nobody is watching."""

    def __init__(self, stream: TextIO, *, label: str) -> None:
        self._stream = stream
        self._label = label
        self._begin = time.monotonic()
        self._progress: Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._progress is None:
            if time.monotonic() - self._begin < _SOON or not self._stream.isatty():
                return
            self._progress = self._start(total)
        self._progress.update(self._progress.task_ids[0], completed=done)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _start(self, total: int) -> "Progress":
        from rich.console import Console  # 100 ms: not before the work has taken ten times that
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(self._label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=Console(file=self._stream), transient=True)
        progress.add_task(self._label, total=total)
        progress.start()
        return progress
