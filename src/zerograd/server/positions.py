"""Places as the editor counts them: lines from 0, and columns from 0 in the units that it has chosen.

We count bytes of UTF-8 from 1. Unless the editor offers more, the protocol counts code units of UTF-16.
"""

from collections.abc import Sequence

from lsprotocol.types import Position, PositionEncodingKind, Range

from zerograd.core.events import Site
from zerograd.core.findings import Edit
from zerograd.source.text.lines import to_character, to_utf16


class Encoding:
    def __init__(self, kind: str | None) -> None:
        self._kind = kind or PositionEncodingKind.Utf16

    def range(self, lines: Sequence[str], place: Site | Edit) -> Range:
        """From a place up to its end, which is the end of the line where it says none."""
        last = place.end_line or place.line
        column = place.end_column if place.end_line else len(_line(lines, last).encode("utf-8", "surrogatepass")) + 1
        return Range(self._position(lines, place.line, place.column), self._position(lines, last, column))

    def _position(self, lines: Sequence[str], number: int, column: int) -> Position:
        if number > len(lines):  # an edit up to where the line behind the last would begin
            return Position(number - 1, 0)
        line = _line(lines, number)
        match self._kind:
            case PositionEncodingKind.Utf8:
                units = column - 1
            case PositionEncodingKind.Utf32:
                units = to_character(line, column)
            case _:
                units = to_utf16(line, column) - 1
        return Position(number - 1, units)


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def touches(one: Range, other: Range) -> bool:
    """Whether two ranges have a place in common; an empty one is the place where it stands."""
    return _at(one.start) <= _at(other.end) and _at(other.start) <= _at(one.end)


def _at(position: Position) -> tuple[int, int]:
    return position.line, position.character
