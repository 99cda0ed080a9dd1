"""Writing and reading a trace: one JSON object per line, schema 1."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from zerograd.core.events import Event, Kind, Site
from zerograd.errors import UsageError

SCHEMA = 1


class TraceWriter:
    """Appends events to a file. Each line is flushed when its step ends, so that a killed run keeps its past."""

    def __init__(self, path: str | Path) -> None:
        self._file: TextIO = open(path, "w", encoding="utf-8")  # noqa: SIM115 (open for as long as the run is)
        self._write({"schema": SCHEMA, "tool": "zerograd"})

    def __call__(self, event: Event) -> None:
        self._write(to_json(event))
        if event.kind in (Kind.CONSUME, Kind.CLEAR):
            self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _write(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")


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
