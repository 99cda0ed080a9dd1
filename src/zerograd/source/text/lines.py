"""A text as lines, and places in a line, as Python counts them and as others do.

Python's lines end at line feeds and carriage returns alone, where str.splitlines() also cuts at form feeds. Its columns
are bytes of UTF-8 (`Site`). Editors and SARIF count UTF-16 code units, and Python's strings characters.
"""

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from io import StringIO
from itertools import accumulate

_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """Without their ends; line n of the text is item n - 1."""
    return _END.split(text)


@lru_cache(maxsize=1)  # several ask for one text, one after the other
def starts_of(text: str) -> list[int]:
    """Where each line begins; and, last, one character behind the end of the text."""
    if "\r" not in text:  # nearly always, and much faster
        return [0, *accumulate(map(len, StringIO(text + "\n")))]
    return [0, *(end.end() for end in _END.finditer(text)), len(text) + 1]


def between(text: str, first: int, last: int) -> str:
    """The lines from one number to another, both counted in."""
    starts = starts_of(text)
    return text[starts[first - 1] : starts[last] if last < len(starts) else None]


def within(text: str, node: ast.stmt) -> str:
    """The lines of a node."""
    return between(text, node.lineno, node.end_lineno or node.lineno)


def to_character(line: str, column: int) -> int:
    """How many characters of `line` stand before the byte column `column`, which counts from 1."""
    if line.isascii():
        return min(column - 1, len(line))
    return len(line.encode("utf-8", "surrogatepass")[: column - 1].decode("utf-8", "ignore"))


def to_column(line: str, character: int) -> int:
    """The byte column, from 1, at which the character number `character`, from 0, begins."""
    return len(line[:character].encode("utf-8", "surrogatepass")) + 1


def to_utf16(line: str, column: int) -> int:
    """The column in UTF-16 code units, from 1."""
    return len(line[: to_character(line, column)].encode("utf-16-le", "surrogatepass")) // 2 + 1


def replaced(text: str, lines: Mapping[int, str]) -> str:
    """The text with these lines, by number, in place of its own, and every line's end as it was."""
    parts: list[str] = []
    start = 0
    for number, end in enumerate([*_END.finditer(text), None], start=1):
        stop = end.start() if end else len(text)
        parts += lines.get(number, text[start:stop]), end[0] if end else ""
        start = end.end() if end else stop
    return "".join(parts)
