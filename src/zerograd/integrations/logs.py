"""Structured events in Python's own logging: a handler that writes JSON lines, a file for each rank, and blocks nobody.

    logging.getLogger("zerograd").addHandler(JsonLines("logs"))
    zerograd.Step(optimizer, trace=log_event)
    zerograd.audit(trace=log_event, on_finding=log_finding)

[Note: nobody waits] A record is turned into a line by a thread of the handler's own, which alone touches the disk. One
that is too slow makes the queue longer, up to a limit; what comes then is dropped, and the next line says how much.
"""

import contextlib
import json
import logging
import os
import threading
import time
from pathlib import Path
from queue import SimpleQueue

from zerograd.core.events import Event
from zerograd.core.findings import Finding
from zerograd.trace.findings import to_line
from zerograd.trace.lines import to_json

_LOGGER = logging.getLogger("zerograd")
_FIELDS = "zerograd_fields"  # of a LogRecord: what our line has beside what every line has
_BATCH = 512  # lines in one write


def log_event(event: Event) -> None:
    """To be given as `trace=`: each event is a record at the level INFO."""
    if _LOGGER.isEnabledFor(logging.INFO):
        _LOGGER.info(event.what or event.kind.value, extra={_FIELDS: to_json(event)})


def log_finding(finding: Finding) -> None:
    """To be given as `on_finding=`: a record at the level of an error or a warning."""
    level = logging.ERROR if finding.severity.value == "error" else logging.WARNING
    _LOGGER.log(level, "%s", finding, extra={_FIELDS: {"finding": to_line(finding)}})


class JsonLines(logging.Handler):
    """Writes `folder/rank<RANK>-<pid>.jsonl`, one object a line: what any logger says, and our fields where they are.

    most    lines that may wait for the disk
    """

    def __init__(self, folder: str | Path, *, level: int = logging.NOTSET, most: int = 100_000) -> None:
        super().__init__(level)
        self._folder, self._most = Path(folder), most
        self.dropped = 0
        self._folder.mkdir(parents=True, exist_ok=True)
        self._start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start)  # threads are not inherited, and the file is the parent's

    def _start(self) -> None:
        rank = os.environ.get("RANK", "0")
        self.path = self._folder / f"rank{rank}-{os.getpid()}.jsonl"
        self._rank = int(rank) if rank.isdecimal() else 0
        self._waiting: SimpleQueue[logging.LogRecord | threading.Event | None] = SimpleQueue()
        self._writer: threading.Thread | None = None
        self._closed = False

    def emit(self, record: logging.LogRecord) -> None:
        if self._closed:
            return
        if self._waiting.qsize() >= self._most:
            self.dropped += 1
            return
        if record.args:  # now: whoever logs may change what it has logged
            record.msg, record.args = record.getMessage(), None
        self._waiting.put(record)
        if self._writer is None:  # not sooner: most processes never log
            self._writer = threading.Thread(target=self._write, name="zerograd log", daemon=True)
            self._writer.start()

    def flush(self, timeout: float = 5.0) -> None:
        """Wait until what was logged is written; no longer than that."""
        if self._writer is not None and self._writer.is_alive():
            written = threading.Event()
            self._waiting.put(written)
            written.wait(timeout)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._waiting.put(None)
            if self._writer is not None:
                self._writer.join(timeout=5.0)
        super().close()

    def _write(self) -> None:
        lost = 0  # of `dropped`, what was said already
        with contextlib.suppress(OSError), open(self.path, "ab", buffering=0) as file:
            while True:
                batch = [self._waiting.get()]
                while not self._waiting.empty() and len(batch) < _BATCH:
                    batch.append(self._waiting.get())
                lines = [self._line(one) for one in batch if isinstance(one, logging.LogRecord)]
                if self.dropped > lost:
                    lost = self.dropped
                    lines.append(_encoded({"at": time.time(), "rank": self._rank, "dropped": lost}))
                file.write(b"".join(lines))
                for one in batch:
                    if isinstance(one, threading.Event):
                        one.set()
                if None in batch:
                    return
        self._closed = True  # the disk is full, or gone: logging goes on without us

    def _line(self, record: logging.LogRecord) -> bytes:
        known = {"at": round(record.created, 6), "rank": self._rank, "level": record.levelname, "logger": record.name}
        return _encoded({**known, "message": record.getMessage(), **getattr(record, _FIELDS, {})})


def _encoded(line: dict[str, object]) -> bytes:
    return (json.dumps(line, separators=(",", ":"), default=str) + "\n").encode()
