"""Writing and reading a trace: one JSON object per line, schema 1."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from zerograd.core.events import Event, Kind, Site
from zerograd.errors import UsageError

SCHEMA = 1


class TraceWriter:
    """Appends events to a file, a whole step at a time and in one write, so that a killed run keeps its past.

    What is not written yet is kept here and not in the file's buffer: a forked process, whose copy of that buffer would
    be written once more, just forgets its writer.
    """

    def __init__(self, path: str | Path) -> None:
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 (open for as long as the run is)
        self._lines: list[str] = []
        self._add({"schema": SCHEMA, "tool": "zerograd"})

    def __call__(self, event: Event) -> None:
        self._add(to_json(event))
        if event.kind in (Kind.CONSUME, Kind.CLEAR):
            self._write()

    def close(self) -> None:
        self._write()
        self._file.close()

    def forget(self) -> None:
        """Let go of a file that is another process's."""
        self._file.close()

    def _add(self, line: dict[str, object]) -> None:
        self._lines.append(json.dumps(line, separators=(",", ":")) + "\n")

    def _write(self) -> None:
        text, self._lines = "".join(self._lines), []
        self._file.write(text.encode("utf-8"))


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
    if event.what:
        line["what"] = event.what
    if event.numbers:
        line["numbers"] = dict(event.numbers)
    return line


def read_trace(path: str | Path) -> list[Event]:
    """Every whole event of a trace."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    header = _loads(lines[0]) if lines else None
    if header is None or header.get("tool") != "zerograd":
        raise UsageError(f"{path} is not a zerograd trace", slug="not-a-trace")
    if header.get("schema") != SCHEMA:
        raise UsageError(
            f"{path} has trace schema {header.get('schema')}, this zerograd reads {SCHEMA}", slug="not-a-trace"
        )
    return list(_events(lines[1:]))


def _events(lines: Iterable[str]) -> Iterator[Event]:
    for line in lines:
        fields = _loads(line)
        if fields is None:
            return  # the run was killed in the middle of this line
        yield Event(
            Kind(fields["kind"]),
            fields.get("slot"),
            Site(*fields["site"]) if "site" in fields else None,
            fields.get("scaled", False),
            fields.get("what", ""),
            tuple(fields.get("numbers", {}).items()),
        )


def _loads(line: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None
