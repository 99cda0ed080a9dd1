"""Walking syntax trees, as fast as Python lets us: ast's own walkers spend most of their time on contexts and names."""

import ast
from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar, cast

N = TypeVar("N", bound=ast.AST)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "items")
_HOLDS: dict[type, tuple[str, ...]] = {}  # for each kind of statement, those of its fields
LEAVES = frozenset({ast.Name, ast.Constant, NoneType, str, int, bool})  # nothing is below these
# Fields without nodes, or with nodes that say nothing to us: contexts (Load, Store) and operators.
_MUTE = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "type_ignores", "type_comment", "conversion", "level"})
_SKIPPED = frozenset({*_INNER, NoneType, str, int, bool})


class _Readers(dict[type, Callable[[ast.AST], Any]]):
    """For each kind of node, how to read all the fields that may hold others: a tuple, or the one field there is."""

    def __missing__(self, kind: type) -> Callable[[ast.AST], Any]:
        fields = [name for name in getattr(kind, "_fields", ()) if name not in _MUTE]
        self[kind] = attrgetter(*fields) if fields else lambda node: ()
        return self[kind]


READ = _Readers()


class Nodes(list[ast.AST]):
    """Every node of a function or module, in text order, but for the functions and classes inside it: those `of` gives.

    Made once per function: everything that has to look at all of it looks here, or only at the nodes of one kind.
    """

    def __init__(self, function: ast.AST) -> None:
        self._by_kind: defaultdict[type, list[ast.AST]] = defaultdict(list)
        by_kind, append = self._by_kind, self.append
        stack: list[Any] = getattr(function, "body", [])[::-1]
        while stack:
            node = stack.pop()
            kind = node.__class__
            by_kind[kind].append(node)
            if kind in _SKIPPED:
                continue
            append(node)
            if kind in LEAVES:
                continue
            held = READ[kind](node)
            for part in held[::-1] if held.__class__ is tuple else (held,):
                if part.__class__ is list:
                    stack += part[::-1]
                elif part is not None:
                    stack.append(part)

    def of(self, kind: type[N]) -> list[N]:
        """Those of one kind, in text order."""
        return cast(list[N], self._by_kind.get(kind, []))


def below(node: ast.AST) -> list[Any]:
    """A node and all that is below it, as ast.walk() gives them, but for contexts and operators."""
    found: list[Any] = [node]
    for one in found:  # it grows on the way
        kind = one.__class__
        if kind in LEAVES:
            continue
        held = READ[kind](one)
        for part in held if held.__class__ is tuple else (held,):
            if part.__class__ is list:
                found += part
            elif part is not None:
                found.append(part)
    return found


def inner_statements(node: ast.AST) -> list[ast.AST]:
    """The statements directly below, and what holds more of them: handlers, cases, with-items."""
    kind = node.__class__
    if kind not in _HOLDS:
        _HOLDS[kind] = tuple(name for name in _BLOCKS if name in kind._fields)
    found: list[ast.AST] = []
    for name in _HOLDS[kind]:
        found += getattr(node, name)
    return found


def holds(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether one node of a file stands inside another, by their places in the text: no walk."""
    begin, end = place(outer)
    first, last = place(inner)
    return begin <= first and last <= end


def place(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where a node begins and ends."""
    end = getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)), end


def written(node: ast.AST) -> str:
    """The text of an expression, as Python would write it; nothing for what it will not (numbers of 5,000 digits)."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
