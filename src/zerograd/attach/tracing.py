"""The trace of one process under `zerograd run --trace FOLDER`: a file that is there from its first step on."""

import os
import sys
from collections.abc import Callable, Mapping

from zerograd.core.events import Event
from zerograd.trace.lines import TraceWriter, origin


class Trace:
    """Never raises: a disk that is full ends the trace and not the run."""

    def __init__(self, folder: str, about: Mapping[str, object] | None = None) -> None:
        self._folder, self._about = folder, about or {}
        self._writer: TraceWriter | None = None
        self.path = ""
        self.latest: dict[str, float] = {}  # the last numbers that were told, for whoever watches

    def __call__(self, event: Event, hit: int | None = None) -> None:
        self.latest |= event.numbers
        self._do(lambda writer: writer(event, hit))

    def note(self, line: Mapping[str, object]) -> None:
        self._do(lambda writer: writer.note(line))

    def _do(self, what: Callable[[TraceWriter], None]) -> None:
        if not self._folder:
            return
        try:
            if self._writer is None:  # now, and not sooner: most processes never train
                self.path = os.path.join(self._folder, f"rank{os.environ.get('RANK', 0)}-{os.getpid()}.jsonl")
                self._writer = TraceWriter(self.path, about=origin(**self._about))
            what(self._writer)
        except OSError as error:
            self._folder = ""
            print(f"zerograd: the trace ends here: {error}", file=sys.stderr)

    def restart(self) -> None:
        """In a forked process: the file is the parent's."""
        if self._writer is not None:
            self._writer.forget()
        self._writer, self.path = None, ""

    def close(self) -> None:
        writer, self._writer, self._folder = self._writer, None, ""
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                print(f"zerograd: the trace ends here: {error}", file=sys.stderr)
