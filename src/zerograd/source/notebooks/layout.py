"""The cells of a notebook, and where in its JSON their text is written (nbformat 3 and 4)."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.errors import SourceError
from zerograd.source.files.discover import read_text

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(strict=False)
_PYTHON = re.compile(r"python|sage|pyspark", re.IGNORECASE)
_SOURCES = ("source", "input")  # of nbformat 4, and of 3


class Piece(NamedTuple):
    """One string of the JSON: where it stands, quotes included, and what it says."""

    start: int
    end: int
    value: str


class Cell(NamedTuple):
    """A code cell. Its text is one string, or a list of them."""

    number: int  # from 1, among all cells
    start: int  # where the text is written: the string, or the list with its brackets
    end: int
    pieces: tuple[Piece, ...]
    is_list: bool

    @property
    def source(self) -> str:
        return "".join(piece.value for piece in self.pieces)


def read_cells(text: str, path: str) -> list[Cell]:
    """The code cells of a notebook of Python. Raises SourceError if it is no notebook."""
    try:
        top = {key: start for key, start, _ in _members(text, _skip(text, 0))}
        language = _language(text, top)
        lists = [top["cells"]] if "cells" in top else list(_worksheets(text, top))
        starts = [start for cells in lists for start, _ in _items(text, cells)]
        cells = [_cell(text, start, number) for number, start in enumerate(starts, start=1)]
    except IndexError:
        raise SourceError(f"{path}: is not a notebook: it ends too soon", slug="not-a-notebook") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{path}: is not a notebook: {error}", slug="not-a-notebook") from None
    return [cell for cell in cells if cell is not None] if _PYTHON.search(language) else []


def read_document(document: str) -> str:
    """The text of a `Site.document`: a file, or a cell of a notebook. Raises SourceError if it cannot be read."""
    path, found, number = document.rpartition(":cell ")
    if not found:
        return read_text(document)
    cells = read_cells(read_text(path), path)
    return next((cell.source for cell in cells if str(cell.number) == number), "")


def _language(text: str, top: dict[str, int]) -> str:
    metadata = _DECODER.raw_decode(text, top["metadata"])[0] if "metadata" in top else {}
    info = metadata.get("language_info") or {}
    kernel = metadata.get("kernelspec") or {}
    return str(info.get("name") or kernel.get("language") or kernel.get("name") or "python")


def _worksheets(text: str, top: dict[str, int]) -> Iterator[int]:
    """nbformat 3 has its cells on sheets."""
    for sheet, _ in _items(text, top["worksheets"]) if "worksheets" in top else ():
        yield from (start for key, start, _ in _members(text, sheet) if key == "cells")


def _cell(text: str, at: int, number: int) -> Cell | None:
    members = {key: (start, end) for key, start, end in _members(text, at)}
    kind = _DECODER.raw_decode(text, members["cell_type"][0])[0] if "cell_type" in members else None
    where = next((members[key] for key in _SOURCES if key in members), None)
    if kind != "code" or where is None:
        return None
    start, end = where
    if text[start] != "[":
        return Cell(number, start, end, (Piece(start, end, _string(text, start)),), is_list=False)
    pieces = tuple(Piece(first, last, _string(text, first)) for first, last in _items(text, start))
    return Cell(number, start, end, pieces, is_list=True)


def _string(text: str, at: int) -> str:
    if text[at] != '"':
        raise ValueError(f"the text of a cell is no string, at character {at}")
    return str(_DECODER.raw_decode(text, at)[0])


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The keys of an object, and where each value begins and ends."""
    at = _expect(text, at, "{")
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _expect(text, _skip(text, at), ":")
        _, end = _DECODER.raw_decode(text, start)
        yield key, start, end
        at = _next(text, end, "}")


def _items(text: str, at: int) -> Iterator[tuple[int, int]]:
    at = _expect(text, at, "[")
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _next(text, end, "]")


def _next(text: str, at: int, close: str) -> int:
    """Behind a comma, or at the end of the whole."""
    at = _skip(text, at)
    return at if text[at] == close else _expect(text, at, ",")


def _expect(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(f"no {mark!r} at character {at}")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
