"""New text for some cells of a notebook; every other byte stays: indentation, order of keys, escapes, line ends."""

import json
from collections import defaultdict
from collections.abc import Iterable
from difflib import SequenceMatcher

from zerograd.core.findings import Edit
from zerograd.source.fixes.places import apply
from zerograd.source.notebooks.layout import Cell, read_cells


def rewrite(text: str, path: str, edits: Iterable[Edit]) -> str:
    """The JSON with the edits made in their cells."""
    by_cell: dict[int, list[Edit]] = defaultdict(list)
    for edit in edits:
        by_cell[edit.cell].append(edit)
    parts: list[str] = []
    at = 0
    for cell in read_cells(text, path):
        if cell.number in by_cell:
            parts += text[at : cell.start], _written(text, cell, apply(cell.source, by_cell[cell.number]))
            at = cell.end
    return "".join((*parts, text[at:]))


def _written(text: str, cell: Cell, source: str) -> str:
    """The JSON of a cell's new text. Lines that stay are copied as they are."""
    ascii_only = text.isascii()
    if not cell.is_list:
        return json.dumps(source, ensure_ascii=ascii_only)
    known = {piece.value: text[piece.start : piece.end] for piece in cell.pieces}
    old, new = [piece.value for piece in cell.pieces], source.splitlines(keepends=True)
    raw: list[str] = []
    for tag, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            raw += [text[piece.start : piece.end] for piece in cell.pieces[first:last]]
        else:
            raw += [known.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in new[begin:end]]
    opening = text[cell.start : cell.pieces[0].start] if cell.pieces else "["
    closing = text[cell.pieces[-1].end : cell.end] if cell.pieces else "]"
    comma = text[cell.pieces[0].end : cell.pieces[1].start] if len(cell.pieces) > 1 else f",{opening[1:]}"
    return opening + comma.join(raw) + closing
