"""New text for some cells of a notebook; every other byte stays: indentation, order of keys, escapes, line ends.

A cell's text is cut into characters as the JSON writes them. An edit takes some away and puts others there; those that
stay are written as they were.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable

from zerograd.core.findings import Edit
from zerograd.source.fixes.places import Places
from zerograd.source.notebooks.layout import Cell, read_cells

_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # one character, beyond the first 65,536
_UNIT = re.compile(rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\.|.", re.DOTALL)


def rewrite(text: str, path: str, edits: Iterable[Edit]) -> str:
    """The JSON with the edits made in their cells."""
    by_cell: dict[int, list[Edit]] = defaultdict(list)
    for edit in edits:
        by_cell[edit.cell].append(edit)
    parts: list[str] = []
    at = 0
    for cell in read_cells(text, path) if by_cell else ():
        if cell.number in by_cell:
            parts += text[at : cell.start], _edited(text, cell, by_cell[cell.number])
            at = cell.end
    return "".join((*parts, text[at:]))


def _edited(text: str, cell: Cell, edits: list[Edit]) -> str:
    source = _Source(text, cell)
    places = Places(cell.source)
    # From the end, so that the places before stay where they are; of two at one place the first given stands first.
    for change in sorted(map(places.change, reversed(edits)), key=lambda change: change[:2], reverse=True):
        source.replace(*change)
    return source.written()


class _Source:
    """The characters of a cell as they are written, and where among them the strings of its list begin."""

    def __init__(self, text: str, cell: Cell) -> None:
        self._text = text
        self._cell = cell
        self._units: list[str] = []
        self._starts: list[int] = []
        for piece in cell.pieces:
            self._starts.append(len(self._units))
            self._units += _UNIT.findall(text, piece.start + 1, piece.end - 1)

    def replace(self, start: int, end: int, new: str) -> None:
        """A line that is put in begins a string of its own, and so does what comes behind it."""
        ascii_only = self._text.isascii()
        grown = len(new) - (end - start)
        behind = [at + grown for at in self._starts if at > start and at >= end]
        lines = [start + number + 1 for number, character in enumerate(new) if character == "\n"]
        starts = [at for at in self._starts if at <= start]
        self._units[start:end] = [json.dumps(character, ensure_ascii=ascii_only)[1:-1] for character in new]
        starts += [at for at in lines if at < len(self._units)]
        self._starts = [*starts, *(at for at in behind if at not in starts)]

    def written(self) -> str:
        if not self._cell.is_list:
            return f'"{"".join(self._units)}"'
        starts = [0] * (bool(self._units) and 0 not in self._starts) + self._starts  # a list may have been empty
        ends = [*starts[1:], len(self._units)] if starts else []
        strings = ["".join(self._units[start:end]) for start, end in zip(starts, ends, strict=True)]
        pieces, text = self._cell.pieces, self._text
        opening = text[self._cell.start : pieces[0].start] if pieces else "["
        closing = text[pieces[-1].end : self._cell.end] if pieces else "]"
        comma = text[pieces[0].end : pieces[1].start] if len(pieces) > 1 else f",{opening[1:]}"
        return opening + comma.join(f'"{string}"' for string in strings) + closing
