"""Writing and reading a trace: one JSON object per line, schema 1."""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from zerograd.core.events import Event, Kind
from zerograd.trace.reading import SCHEMA, opened


class TraceWriter:
    """Appends events to a file, a whole step at a time and in one write, so that a killed run keeps its past.

    What is not written yet is kept here and not in the file's buffer: a forked process, whose copy of that buffer would
    be written once more, just forgets its writer.
    """

    def __init__(self, path: str | Path, *, about: Mapping[str, object] | None = None) -> None:
        """`about`: what the header says beside the schema and the clock."""
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 (open for as long as the run is)
        self._lines: list[str] = []
        # Two clocks: one that profilers and other machines share, read once, and one that nobody sets back.
        self._began = time.perf_counter_ns()
        self.note({"schema": SCHEMA, "tool": "zerograd", "began": time.time_ns(), **(about or {})})

    def __call__(self, event: Event, hit: int | None = None) -> None:
        """`hit`: which set of the optimizer's parameters it happened to, by the number it was noted with."""
        line = to_json(event)
        if hit is not None:
            line["hit"] = hit
        line["at"] = (time.perf_counter_ns() - self._began) // 1000
        self.note(line)
        if event.kind in (Kind.CONSUME, Kind.CLEAR):
            self._write()

    def note(self, line: Mapping[str, object]) -> None:
        """A line that is no event: what is known of the optimizers, a finding, a number that came late."""
        self._lines.append(json.dumps(line, separators=(",", ":")) + "\n")

    def close(self) -> None:
        self._write()
        self._file.close()

    def forget(self) -> None:
        """Let go of a file that is another process's."""
        self._file.close()

    def _write(self) -> None:
        text, self._lines = "".join(self._lines), []
        self._file.write(text.encode("utf-8"))


def this_run() -> str:
    """A name that all processes of this run share, and no other run has. Ranks have their launcher in common."""
    if "RANK" in os.environ:
        return f"{os.environ.get('TORCHELASTIC_RUN_ID', '')}-{os.getppid()}"
    return f"{os.getpid()}-{time.time_ns()}"


def origin(**more: object) -> dict[str, object]:
    """What a header says of the process that writes it."""
    rank = {name.lower(): int(os.environ[name]) for name in ("RANK", "WORLD_SIZE") if _counts(name)}
    return {"pid": os.getpid(), "script": sys.argv[0] if sys.argv else "", **rank, **more}


def _counts(name: str) -> bool:
    return os.environ.get(name, "").isdecimal()


def of_rank(path: str | Path) -> Path:
    """The file of this process: `run.jsonl` is `run.rank1.jsonl` for rank 1 of several."""
    path, rank = Path(path), os.environ.get("RANK")
    if rank is None or os.environ.get("WORLD_SIZE", "1") == "1":
        return path
    return path.with_name(f"{path.stem}.rank{rank}{path.suffix}")


def to_json(event: Event) -> dict[str, object]:
    """The event without the fields that say nothing."""
    line: dict[str, object] = {"kind": event.kind.value}
    if event.slot is not None:
        line["slot"] = event.slot
    if event.site is not None:
        line["site"] = list(event.site)
    if event.scaled:
        line["scaled"] = True
    if event.midway:
        line["midway"] = True
    if event.what:
        line["what"] = event.what
    if event.numbers:
        line["numbers"] = dict(event.numbers)
    return line


def read_trace(path: str | Path) -> list[Event]:
    """Every whole event of a trace."""
    return [line.event for line in opened(path).events()]
