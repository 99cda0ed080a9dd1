"""Where things stand in a text, as `ast` counts (lines from 1, columns in bytes of UTF-8), and edits to it."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from zerograd.core.findings import Edit
from zerograd.source.text.lines import starts_of


class Change(NamedTuple):
    """`text` in place of the characters from `start` up to `end`."""

    start: int
    end: int
    text: str


class Places:
    """The lines of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = starts_of(text)
        self.count = len(self._starts) - 1
        self.line_end = text[self._end(1) : self._starts[1]] or "\n"

    def _end(self, line: int) -> int:
        """Where a line ends, without its break."""
        behind = self._starts[line]
        return behind - (2 if self.text[behind - 2 : behind] == "\r\n" else 1)

    def offset(self, line: int, column: int) -> int:
        """The character at a place; `column` counts bytes from 1."""
        written = self.line(line)
        if written.isascii():
            return self._starts[line - 1] + column - 1
        before = written.encode("utf-8", "surrogatepass")[: column - 1]
        return self._starts[line - 1] + len(before.decode("utf-8", "replace"))

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of a character."""
        line = bisect_right(self._starts, offset)
        before = self.text[self._starts[line - 1] : offset]
        return line, len(before.encode("utf-8", "surrogatepass")) + 1

    def line_of(self, offset: int) -> tuple[int, int]:
        """Where the line of a character begins, and where it ends, without its break."""
        line = bisect_right(self._starts, offset)
        return self._starts[line - 1], self._end(line)

    def behind_line(self, offset: int) -> int:
        """Where the next line begins; the end of the text if there is none."""
        return min(self._starts[bisect_right(self._starts, offset)], len(self.text))

    def line(self, number: int) -> str:
        """A line by its number, without its break; nothing where there is none."""
        return self.text[self._starts[number - 1] : self._end(number)] if 0 < number <= self.count else ""

    def edit(self, change: Change) -> Edit:
        return Edit(*self.place(change.start), *self.place(change.end), change.text)

    def change(self, edit: Edit) -> Change:
        return Change(self.offset(edit.line, edit.column), self.offset(edit.end_line, edit.end_column), edit.text)

    def apply(self, edits: Iterable[Edit]) -> str:
        """The text with all edits made; they must not overlap. Of two at one place the first given stands first."""
        parts: list[str] = []
        at = 0
        for change in sorted(map(self.change, edits), key=lambda change: (change.start, change.end)):
            parts += self.text[at : change.start], change.text
            at = change.end
        return "".join((*parts, self.text[at:]))


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made."""
    return Places(text).apply(edits)


def overlap(one: Sequence[Edit], other: Sequence[Edit]) -> bool:
    """Whether two sets of edits touch the same characters. Insertions at one place do not."""
    return any(_touch(a, b) for a in one for b in other)


def _touch(one: Edit, other: Edit) -> bool:
    if one.cell != other.cell:
        return False
    start, end = (one.line, one.column), (one.end_line, one.end_column)
    first, last = (other.line, other.column), (other.end_line, other.end_column)
    return start < last and first < end
