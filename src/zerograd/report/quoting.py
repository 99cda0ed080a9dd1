"""The user's own lines around a finding, read when the report is made: a trace holds places and no text."""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from zerograd.core.findings import Finding

_AROUND = 2
_LARGEST = 4_000_000  # bytes: no training script is larger


class Excerpt(NamedTuple):
    path: str
    changed: bool  # the file was written after the run began: lines may have moved
    lines: list[tuple[int, str, str]]  # number, text, what happens there; number 0: lines are left out


def excerpts(finding: Finding, header: Mapping[str, object]) -> list[Excerpt]:
    """One for each file that the finding names and that is still there."""
    told: dict[str, dict[int, str]] = {}
    for other in finding.related:
        told.setdefault(other.site.path, {})[other.site.line] = other.message
    told.setdefault(finding.site.path, {})[finding.site.line] = finding.code
    found = [_excerpt(path, lines, header) for path, lines in told.items() if not finding.site.cell]
    return [one for one in found if one is not None]


def _excerpt(path: str, told: Mapping[int, str], header: Mapping[str, object]) -> Excerpt | None:
    folder = header.get("folder")
    text = _source(os.path.join(folder if isinstance(folder, str) else "", path))
    if text is None:
        return None
    written, lines = text
    began = header.get("began")
    wanted = {near for line in told for near in range(line - _AROUND, line + _AROUND + 1) if 0 < near <= len(lines)}
    if not wanted & set(told):
        return None
    return Excerpt(path, isinstance(began, int) and written > began, list(_rows(sorted(wanted), lines, told)))


def _rows(wanted: list[int], lines: list[str], told: Mapping[int, str]) -> Iterable[tuple[int, str, str]]:
    before = wanted[0] - 1
    for number in wanted:
        if number > before + 1:
            yield 0, "", ""
        yield number, lines[number - 1].expandtabs(4), told.get(number, "")
        before = number


@cache
def _source(path: str) -> tuple[int, list[str]] | None:
    """When it was written, and its lines. Python only: a report is passed on, and no trace may fill it with secrets."""
    file = Path(path)
    try:
        if file.suffix != ".py" or not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        return file.stat().st_mtime_ns, file.read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return None
