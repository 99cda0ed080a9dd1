"""Which lines of a rewritten program stand for a line of the program before.

A node keeps the line it was read from, and a rewrite gives each node it makes the lines of what it stands for. Text
that is printed from a tree has one line for each simple statement and one for each header, so statements are all that
is compared.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from laws.reader.readers import MAIN, Files, Place

Trees = dict[str, ast.Module]  # by file
_N = TypeVar("_N", bound=ast.AST)
# ast.parse gives every tree the same object for each of these: they are at no place.
_SHARED = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
_LINED = (ast.stmt, ast.ExceptHandler, ast.match_case)


class Printed(NamedTuple):
    files: Files
    places: dict[int, frozenset[Place]]  # by line of the program before


def standing_for(node: _N, *lines: int) -> _N:
    """`node`, all of which was made in place of what stood in these lines."""
    for part in ast.walk(node):
        if not isinstance(part, _SHARED):
            part.origins = lines
    return node


def in_place_of(old: ast.AST, text: str) -> list[ast.stmt]:
    """New statements that stand for `old`."""
    return [standing_for(statement, *lines_of(old)) for statement in ast.parse(text).body]


def lines_of(node: ast.AST) -> tuple[int, ...]:
    if isinstance(node, _SHARED):
        return ()
    origins: tuple[int, ...] | None = getattr(node, "origins", None)
    line = getattr(node, "lineno", None)
    return origins if origins is not None else (line,) if line else ()


def printed(trees: Trees) -> Printed:
    places: dict[int, set[Place]] = {}
    files: dict[str, str] = {}
    for name, tree in trees.items():
        files[name] = ast.unparse(ast.fix_missing_locations(tree))
        for before, after in zip(_lined(tree), _lined(ast.parse(files[name])), strict=True):
            assert type(before) is type(after), (ast.unparse(before), ast.unparse(after))
            own = {line for node in _own(before) for line in lines_of(node)}
            now = {(name, line) for node in _own(after) for line in lines_of(node)}
            for line in own:
                places.setdefault(line, set()).update(now)
    return Printed(files, {line: frozenset(found) for line, found in places.items()})


def untouched(text: str) -> Printed:
    """The program as it is printed when nothing is rewritten: what rewritten ones are compared with."""
    return printed({MAIN: ast.parse(text)})


def _lined(tree: ast.AST) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, _LINED))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and the expressions in it, without the statements in it."""
    yield node
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    for part in parts:
        if not isinstance(part, _LINED):
            yield from _own(part)
