"""Walking syntax trees, as fast as Python lets us: ast's own walkers spend most of their time on contexts and names."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar

N = TypeVar("N", bound=ast.AST)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "items")
_HOLDS: dict[type, tuple[str, ...]] = {}  # for each kind of statement, those of its fields
LEAVES = frozenset({ast.Name, ast.Constant, NoneType, str, int, bool})  # nothing is below these
# Fields without nodes, or with nodes that say nothing to us: contexts (Load, Store) and operators.
_MUTE = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "type_ignores", "type_comment", "conversion", "level"})
_FLAT = frozenset({*_INNER, *LEAVES})  # of these nothing inside is looked at

_SIGNS = {ast.Eq: "==", ast.Is: "is", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in"}
_JOINS: dict[type[ast.boolop], str] = {ast.And: " and ", ast.Or: " or "}


class _Readers(dict[type, Callable[[ast.AST], Any]]):
    """For each kind of node, how to read all the fields that may hold others: a tuple, or the one field there is."""

    def __init__(self, step: int) -> None:
        self._step = step

    def __missing__(self, kind: type) -> Callable[[ast.AST], Any]:
        fields = [name for name in getattr(kind, "_fields", ()) if name not in _MUTE][:: self._step]
        self[kind] = attrgetter(*fields) if fields else lambda node: ()
        return self[kind]


READ, _BACKWARDS = _Readers(1), _Readers(-1)


class Nodes:
    """The nodes of a function or module by kind, each kind in text order; of the functions and classes inside it the
    heads alone. Made once per function: everything that has to look at all of it looks here."""

    def __init__(self, function: ast.AST) -> None:
        self._by_kind: defaultdict[type, list[ast.AST]] = defaultdict(list)
        by_kind = self._by_kind
        stack: list[Any] = getattr(function, "body", [])[::-1]
        while stack:
            node = stack.pop()
            kind = node.__class__
            by_kind[kind].append(node)
            if kind in _FLAT:  # more than half of them
                continue
            held = _BACKWARDS[kind](node)
            for part in held if held.__class__ is tuple else (held,):
                if part.__class__ is list:
                    if part:
                        stack += part[::-1]
                elif part is not None:
                    stack.append(part)

    def __len__(self) -> int:
        return sum(map(len, self._by_kind.values()))

    def __iter__(self) -> Iterator[ast.AST]:
        """All of them, one kind after the other."""
        return chain.from_iterable(self._by_kind.values())

    def of(self, kind: type[N]) -> list[N]:
        """Those of one kind, in text order."""
        found: list[Any] = self._by_kind.get(kind, [])
        return found


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


def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """For every node below another, the one it stands in."""
    parents: dict[ast.AST, ast.AST] = {}
    pending: list[Any] = [tree]
    for node in pending:  # it grows on the way
        kind = node.__class__
        if kind in LEAVES:
            continue
        held = READ[kind](node)
        for part in held if held.__class__ is tuple else (held,):
            if part.__class__ is list:
                pending += part
                parents.update(dict.fromkeys(part, node))
            elif part.__class__ is not NoneType:
                pending.append(part)
                parents[part] = node
    return parents


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
    try:  # twice as fast as asking each of them whether it is there, and asked all the time
        return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)  # type: ignore[attr-defined]
    except AttributeError:  # a with-item, a comprehension: nowhere
        return (0, 0), (0, 0)


def written(node: ast.AST) -> str:
    """The text of an expression, as Python would write it; nothing for what it will not (numbers of 5,000 digits)."""
    try:
        plain = _plainly(node)  # most of what is asked for, and much faster
        return ast.unparse(node) if plain is None else plain
    except (ValueError, RecursionError):
        return ""


def _plainly(node: ast.AST) -> str | None:
    """A name, an attribute of one, a constant of one word; two of these compared; several of all these joined."""
    if isinstance(node, ast.BoolOp):
        parts = [_plainly(part) if not isinstance(part, ast.BoolOp) else None for part in node.values]
        return None if None in parts else _JOINS[node.op.__class__].join(filter(None, parts))
    if isinstance(node, ast.Compare):
        sign = _SIGNS.get(node.ops[0].__class__) if len(node.ops) == 1 else None
        left, right = _word(node.left), _word(node.comparators[0])
        return f"{left} {sign} {right}" if sign and left and right else None
    return _word(node)


def _word(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _word(node.value) if isinstance(node.value, ast.Name | ast.Attribute) else None
        return None if base is None else f"{base}.{node.attr}"
    if isinstance(node, ast.Constant) and (node.value is None or node.value.__class__ in (bool, int, str)):
        return repr(node.value) if node.kind is None else None
    return None
