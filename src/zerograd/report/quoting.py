"""The user's own lines around a finding, read when the report is made: a trace holds places and no text.

A line alone does not say when it runs. So every line comes with the heads of what it stands in: `for`, `if`, `with`.
"""

import ast
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.core.findings import Finding

_AROUND = 2
_LARGEST = 4_000_000  # bytes: no training script is larger
_SECOND = ("else", "finally")  # the words that begin a part of a statement, and that the tree has no line for


class Excerpt(NamedTuple):
    path: str
    changed: bool  # the file was written after the run began: lines may have moved
    lines: list[tuple[int, str, str]]  # number, text, what happens there; number 0: lines are left out


class _Source(NamedTuple):
    written: int
    lines: list[str]
    heads: list[tuple[int, int, int]]  # a line, and the first and the last of the lines that stand below it


def excerpts(finding: Finding, header: Mapping[str, object]) -> list[Excerpt]:
    """One for each file that the finding names and that is still there."""
    told: dict[str, dict[int, str]] = {}
    site = finding.site
    own = [other.message for other in finding.related if (other.site.path, other.site.line) == (site.path, site.line)]
    for other in finding.related:
        told.setdefault(other.site.path, {})[other.site.line] = other.message
    told.setdefault(site.path, {})[site.line] = f"{finding.code}: {'; '.join(own)}" if own else finding.code
    found = [_excerpt(path, lines, header) for path, lines in told.items() if not finding.site.cell]
    return [one for one in found if one is not None]


def line_of(site: Site, header: Mapping[str, object]) -> str:
    """The line that stood there when the run began; "" if that cannot be known."""
    source = None if site.cell else _found(site.path, header)
    if source is None or _changed(source, header) or not 0 < site.line <= len(source.lines):
        return ""
    return source.lines[site.line - 1]


def _found(path: str, header: Mapping[str, object]) -> _Source | None:
    folder = header.get("folder")
    return _source(os.path.join(folder if isinstance(folder, str) else "", path))


def _changed(source: _Source, header: Mapping[str, object]) -> bool:
    began = header.get("began")
    return isinstance(began, int) and source.written > began


def _excerpt(path: str, told: Mapping[int, str], header: Mapping[str, object]) -> Excerpt | None:
    source = _found(path, header)
    if source is None:
        return None
    size = len(source.lines)
    wanted = {near for line in told for near in range(line - _AROUND, line + _AROUND + 1) if 0 < near <= size}
    if not wanted & set(told):
        return None
    wanted |= {head for head, first, last in source.heads if any(first <= line <= last for line in wanted)}
    return Excerpt(
        path, _changed(source, header), list(_rows(_trimmed(wanted, told, source.lines), source.lines, told))
    )


def _trimmed(wanted: set[int], told: Mapping[int, str], lines: list[str]) -> list[int]:
    """In order. Empty lines do not begin or end what is shown, nor stand alone in it."""
    return [
        number
        for number in sorted(wanted)
        if number in told or lines[number - 1].strip() or {number - 1, number + 1} <= wanted
    ]


def _rows(wanted: list[int], lines: list[str], told: Mapping[int, str]) -> Iterable[tuple[int, str, str]]:
    before = wanted[0] - 1
    for number in wanted:
        left_out = [one for one in range(before + 1, number) if lines[one - 1].strip()]
        if len(left_out) == 1:  # itself no longer than the mark for it
            yield left_out[0], lines[left_out[0] - 1].expandtabs(4), ""
        elif left_out:
            yield 0, "", ""
        yield number, lines[number - 1].expandtabs(4), told.get(number, "")
        before = number


@cache
def _source(path: str) -> _Source | None:
    """Python only: a report is passed on, and no trace may fill it with secrets."""
    file = Path(path)
    try:
        if file.suffix != ".py" or not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        lines = file.read_text("utf-8", "replace").splitlines()
        return _Source(file.stat().st_mtime_ns, lines, _heads(lines))
    except (OSError, ValueError):
        return None


def _heads(lines: list[str]) -> list[tuple[int, int, int]]:
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return []  # it is shown as it is, without them
    return [head for node in ast.walk(tree) for head in _heads_of(node, lines)]


def _heads_of(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int]]:
    line: int | None = getattr(node, "lineno", None)
    body = getattr(node, "body", None)
    if isinstance(node, ast.match_case):
        line = node.pattern.lineno
    if line is None or not isinstance(body, list) or not body:
        return
    yield line, line, max(getattr(node, "end_lineno", None) or line, body[-1].end_lineno)
    for name in ("orelse", "finalbody"):
        part = getattr(node, name, None)
        if part:
            above = range(part[0].lineno - 1, line, -1)
            indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
            starts = tuple(indent + word for word in _SECOND)
            second = next((one for one in above if lines[one - 1].startswith(starts)), None)
            if second is not None:
                yield second, second, part[-1].end_lineno
