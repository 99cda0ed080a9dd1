"""Reading a trace line by line: a trace of a day does not fit into memory."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from zerograd.core.events import Event, Kind, Site
from zerograd.errors import UsageError, missing
from zerograd.trace.findings import place as as_site

SCHEMA = 1
_decode = json.JSONDecoder().raw_decode
_TEXT, _WHOLE, _NUMERIC = (str, type(None)), (int, type(None)), {int, float}
_KINDS = {kind.value: kind for kind in Kind}


class Line(NamedTuple):
    """One event as it was written."""

    event: Event
    at: int | None = None  # microseconds since the header's `began`, when it was over
    hit: int | None = None  # which set of its optimizer's parameters it happened to; None: all of them


@dataclass(frozen=True, slots=True)
class Opened:
    """A trace whose header was read and can be taken."""

    path: Path
    header: dict[str, Any]

    def events(self) -> Iterator[Line]:
        return (line for line in self.lines() if isinstance(line, Line))

    def lines(self) -> Iterator[Line | dict[str, Any]]:
        """Every whole line in order: events, and as they are the lines that are none. Stops at a torn one."""
        sites: dict[tuple[object, ...], Site] = {}  # lines of code are few: each is kept once
        with open(self.path, encoding="utf-8", errors="replace", newline="\n") as file:
            next(file)
            for number, text in enumerate(file, start=2):
                fields = _loads(text)
                if fields is None:
                    return  # the run was killed in the middle of this line
                if fields.get("kind") is None:
                    yield fields
                    continue
                try:
                    yield _line(_KINDS[fields["kind"]], fields, sites)
                except (KeyError, TypeError, AttributeError):
                    raise UsageError(
                        f"{self.path}:{number} is no event of schema {SCHEMA}", slug="not-a-trace"
                    ) from None


def opened(path: str | Path) -> Opened:
    path = Path(path)
    try:
        with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
            header = _loads(file.readline())
    except FileNotFoundError:
        raise missing("trace", str(path), slug="not-a-trace") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", slug="not-a-trace") from None
    if header is None or header.get("tool") != "zerograd":
        raise UsageError(
            f"{path} is not a zerograd trace", cure="Write one: zerograd run --trace FOLDER SCRIPT.", slug="not-a-trace"
        )
    if header.get("schema") != SCHEMA:
        raise UsageError(
            f"{path} has trace schema {header.get('schema')}, this zerograd reads {SCHEMA}", slug="not-a-trace"
        )
    return Opened(path, header)


def _line(kind: Kind, fields: dict[str, Any], sites: dict[tuple[object, ...], Site]) -> Line:
    place = fields.get("site")
    site = None
    if place is not None:
        key = tuple(place)
        site = sites.get(key) or sites.setdefault(key, as_site(place))
    slot, what, at, hit = fields.get("slot"), fields.get("what", ""), fields.get("at"), fields.get("hit")
    if not (type(slot) in _TEXT and type(what) is str and type(at) in _WHOLE and type(hit) in _WHOLE):
        raise TypeError
    numbers = fields.get("numbers")
    scaled, midway = fields.get("scaled") is True, fields.get("midway") is True
    event = Event(kind, slot, site, scaled, what, numbers_of(numbers) if numbers else (), midway)
    return Line(event, at, hit)


def numbers_of(fields: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    if not _NUMERIC.issuperset(map(type, fields.values())):
        raise TypeError
    return tuple(fields.items())


def _loads(line: str) -> dict[str, Any] | None:
    try:
        fields, end = _decode(line)  # half the time of json.loads, which looks for space around it
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) and not line[end:].strip() else None
