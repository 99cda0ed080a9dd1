"""A notebook as one program: its cells in their order, as "restart and run all" would run them."""

from bisect import bisect_right
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.core.findings import Edit
from zerograd.source.fixes.places import Places
from zerograd.source.notebooks.layout import Cell
from zerograd.source.notebooks.magics import tame


class Part(NamedTuple):
    """The lines of the program that one cell gives, from `first` on, counted from 1."""

    cell: Cell
    first: int
    last: int
    end: tuple[int, int]  # the cell's last line, and the column behind it


class Joined(NamedTuple):
    text: str
    parts: tuple[Part, ...]
    changed: frozenset[int]  # lines that are not what the notebook says
    troubles: tuple[str, ...]

    def part_of(self, line: int) -> Part:
        return self.parts[max(0, bisect_right([part.first for part in self.parts], line) - 1)]

    def site(self, site: Site) -> Site:
        """A place of the program as one of its cell."""
        part = self.part_of(site.line)
        before = part.first - 1
        return site._replace(line=site.line - before, end_line=site.end_line - before, cell=part.cell.number)

    def edit(self, edit: Edit) -> Edit | None:
        """An edit of the program as one of its cell; None if it is of several, or of a line nobody wrote."""
        part = self.part_of(edit.line)
        before = part.first - 1
        line, column = edit.line - before, edit.column
        end = edit.end_line - before, edit.end_column
        if end[0] > part.last - before:  # a last line that goes with its end: the end of the one before goes instead
            if end != (part.last - before + 1, 1):
                return None
            end = part.end
            if column == 1 and line > 1:
                lines = Places(part.cell.source)
                line -= 1
                column = len(lines.line(line).encode()) + 1
        touched = range(edit.line, edit.end_line + (edit.end_column > 1))
        if any(number in self.changed for number in touched):
            return None
        return Edit(line, column, *end, edit.text, part.cell.number)


def join(cells: list[Cell]) -> Joined:
    lines = 0
    texts: list[str] = []
    parts: list[Part] = []
    changed: set[int] = set()
    troubles: list[str] = []
    for cell in cells:
        text, muted, trouble = tame(cell.source)
        if trouble:
            troubles.append(f"cell {cell.number} is not Python and is left out: {trouble}")
        if text is None:
            continue
        places = Places(text)
        count, column = places.place(len(text))
        parts.append(Part(cell, lines + 1, lines + count, (count, column)))
        changed |= {lines + number for number in muted}
        texts.append(text)
        lines += count
    return Joined("\n".join(texts), tuple(parts), frozenset(changed), tuple(troubles))
