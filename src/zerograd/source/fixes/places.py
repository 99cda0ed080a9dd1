"""Where things stand in a text, as `ast` counts (lines from 1, columns in bytes of UTF-8), and edits to it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from zerograd.core.findings import Edit

_BREAK = re.compile(r"\r\n|\r|\n")  # what Python's tokenizer takes for the end of a line, and nothing else


class Change(NamedTuple):
    """`text` in place of the characters from `start` up to `end`."""

    start: int
    end: int
    text: str


class Places:
    """The lines of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        breaks = list(_BREAK.finditer(text))
        self._starts = [0, *(found.end() for found in breaks)]
        self._ends = [*(found.start() for found in breaks), len(text)]
        self.count = len(self._starts)
        self.line_end = breaks[0][0] if breaks else "\n"

    def offset(self, line: int, column: int) -> int:
        """The character at a place; `column` counts bytes from 1."""
        start, end = self._starts[line - 1], self._ends[line - 1]
        written = self.text[start:end]
        if written.isascii():
            return start + column - 1
        return start + len(written.encode("utf-8", "surrogatepass")[: column - 1].decode("utf-8", "replace"))

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of a character."""
        line = bisect_right(self._starts, offset)
        before = self.text[self._starts[line - 1] : offset]
        return line, len(before.encode("utf-8", "surrogatepass")) + 1

    def line_of(self, offset: int) -> tuple[int, int]:
        """Where the line of a character begins, and where it ends, without its break."""
        line = bisect_right(self._starts, offset) - 1
        return self._starts[line], self._ends[line]

    def behind_line(self, offset: int) -> int:
        """Where the next line begins; the end of the text if there is none."""
        line = bisect_right(self._starts, offset)
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def line(self, number: int) -> str:
        """A line by its number, without its break; nothing where there is none."""
        known = 0 < number <= len(self._starts)
        return self.text[self._starts[number - 1] : self._ends[number - 1]] if known else ""

    def edit(self, change: Change) -> Edit:
        return Edit(*self.place(change.start), *self.place(change.end), change.text)

    def change(self, edit: Edit) -> Change:
        return Change(self.offset(edit.line, edit.column), self.offset(edit.end_line, edit.end_column), edit.text)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; they must not overlap. Of two at one place the first given stands first."""
    places = Places(text)
    parts: list[str] = []
    at = 0
    for change in sorted(map(places.change, edits), key=lambda change: (change.start, change.end)):
        parts += text[at : change.start], change.text
        at = change.end
    return "".join((*parts, text[at:]))


def overlap(one: Sequence[Edit], other: Sequence[Edit]) -> bool:
    """Whether two sets of edits touch the same characters. Insertions at one place do not."""
    return any(_touch(a, b) for a in one for b in other)


def _touch(one: Edit, other: Edit) -> bool:
    if one.cell != other.cell:
        return False
    start, end = (one.line, one.column), (one.end_line, one.end_column)
    first, last = (other.line, other.column), (other.end_line, other.end_column)
    return start < last and first < end
