"""A text as lines, and places in a line, as Python counts them and as others do.

Python's lines end at line feeds and carriage returns alone, where str.splitlines() also cuts at form feeds. Its columns
are bytes of UTF-8 (`Site`). Editors and SARIF count UTF-16 code units, and Python's strings characters.
"""

import re

_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """Without their ends; line n of the text is item n - 1."""
    return _END.split(text)


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
