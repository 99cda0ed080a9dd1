"""A notebook as one program: its cells in order, without what can be run again in any order.

[Note: loose cells] A step in a cell of its own is run by hand, once or ten times, before or behind the others: what it
does to a gradient says nothing. So statements outside loops and functions that touch gradients, themselves or through
a function of the notebook, are left out; what they would bind stays. Loops and functions are judged.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.core.findings import Edit
from zerograd.source.fixes.places import Places
from zerograd.source.notebooks.layout import Cell
from zerograd.source.notebooks.magics import tame
from zerograd.source.text.nodes import place
from zerograd.source.text.patterns import pattern

_EVENT = pattern(r"\.(?:step|backward|manual_backward|zero_grad|unscale_|clip_gradients)\b|clip_grad_|\.grad\b")
_LOOSE = (ast.If, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
_KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.While, ast.Import)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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
    text, loose = _without_loose("\n".join(texts))
    return Joined(text, tuple(parts), frozenset(changed | loose), tuple(troubles))


def _without_loose(text: str) -> tuple[str, set[int]]:
    """The program with nothing in place of its loose events. See [Note: loose cells]."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text, set()
    places = Places(text)
    names = _training(tree, text, places)
    calls = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\(") if names else None
    muted: set[int] = set()
    characters = list(text)
    for statement in _straight(tree.body):
        (line, column), (end_line, end_column) = place(statement)
        start, end = places.offset(line, column + 1), places.offset(end_line, end_column + 1)
        written = text[start:end]
        if _EVENT.search(written) or (calls is not None and calls.search(written)):
            characters[start:end] = [mark if mark in "\r\n" else " " for mark in written]
            characters[start] = "0"
            muted |= set(range(line, end_line + 1))
    return "".join(characters), muted


def _straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements that stand in no loop and no function."""
    for statement in body:
        if isinstance(statement, _LOOSE):
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            blocks += [inner.body for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))]
            for block in blocks:
                yield from _straight(block)
        elif not isinstance(statement, _KEPT):
            yield statement


def _training(tree: ast.Module, text: str, places: Places) -> set[str]:
    """The names of functions that touch gradients, or that call such a function."""
    bodies: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            (line, _), (end_line, end_column) = place(node)
            body = text[places.offset(line, 1) : places.offset(end_line, end_column + 1)]
            bodies[node.name] = bodies.get(node.name, "") + body
    names = {name for name, body in bodies.items() if _EVENT.search(body)}
    while True:
        word = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\(") if names else None
        more = {name for name, body in bodies.items() if word is not None and name not in names and word.search(body)}
        if not more:
            return names
        names |= more
