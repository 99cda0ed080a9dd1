"""Walking syntax trees, as fast as Python lets us: ast's own walkers spend most of their time on contexts and names."""

import ast
from collections.abc import Callable
from operator import attrgetter
from types import NoneType
from typing import Any

LEAVES = frozenset({ast.Name, ast.Constant, NoneType, str, int, bool})  # nothing is below these
# Fields without nodes, or with nodes that say nothing to us: contexts (Load, Store) and operators.
_MUTE = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "type_ignores", "type_comment", "conversion", "level"})

_SIGNS: dict[type[ast.cmpop], str] = dict(
    zip(
        (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn),
        ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"),
        strict=True,
    )
)
_OPERATORS: dict[type[ast.operator], str] = dict(
    zip((ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod), ("+", "-", "*", "/", "//", "%"), strict=True)
)
_JOINS: dict[type[ast.boolop], str] = {ast.And: " and ", ast.Or: " or "}


class _Readers(dict[type, Any]):
    """For each kind of node, how to read all the fields that may hold others: a tuple, or the one field there is. None
    for those that nothing is looked at inside."""

    def __init__(self, flat: frozenset[type]) -> None:
        super().__init__(dict.fromkeys(flat))

    def __missing__(self, kind: type) -> Callable[[ast.AST], Any]:
        fields = [name for name in getattr(kind, "_fields", ()) if name not in _MUTE]
        self[kind] = read = attrgetter(*fields) if fields else lambda node: ()
        return read


READ = _Readers(LEAVES)


def below(node: ast.AST) -> list[Any]:
    """A node and all that is below it, as ast.walk() gives them, but for contexts and operators."""
    found: list[Any] = [node]
    push, readers = found.append, READ
    for one in found:  # it grows on the way
        read = readers[type(one)]
        if read is None:
            continue
        held = read(one)
        for part in held if type(held) is tuple else (held,):
            if type(part) is list:
                found += part
            elif part is not None:
                push(part)
    return found


def held_by(node: ast.AST) -> list[Any]:
    """What stands directly below a node, but for contexts and operators."""
    read = READ[type(node)]
    held = read(node) if read is not None else ()
    found: list[Any] = []
    for part in held if type(held) is tuple else (held,):
        if type(part) is list:
            found += part
        elif part is not None:
            found.append(part)
    return found


def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """For every node below another, the one it stands in."""
    parents: dict[ast.AST, ast.AST] = {}
    pending: list[Any] = [tree]
    for node in pending:  # it grows on the way
        read = READ[type(node)]
        if read is None:
            continue
        held = read(node)
        for part in held if type(held) is tuple else (held,):
            if type(part) is list:
                pending += part
                parents.update(dict.fromkeys(part, node))
            elif part is not None:
                pending.append(part)
                parents[part] = node
    return parents


def holds(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether one node of a file stands inside another, by their places in the text: no walk."""
    if getattr(outer, "lineno", 0) > getattr(inner, "lineno", 0):
        return False  # most of those that do not
    begin, end = place(outer)
    first, last = place(inner)
    return begin <= first and last <= end


def place(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where a node begins and ends."""
    try:  # twice as fast as asking each of them whether it is there, and asked all the time
        return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)  # type: ignore[attr-defined]
    except AttributeError:  # a with-item, a comprehension: nowhere
        return (0, 0), (0, 0)


class _Complex(Exception):
    """An expression that is left to Python to write."""


def written(node: ast.AST) -> str:
    """The text of an expression, as one would write it; nothing where Python will not (numbers of 5,000 digits)."""
    try:
        return _plainly(node)  # nine in ten of those that are asked for, and ten times as fast
    except _Complex:
        pass
    except (ValueError, RecursionError):
        return ""
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return ""


def _plainly(node: ast.AST) -> str:
    """A test or a value in which nothing needs brackets: several joined, one denied, two compared."""
    if isinstance(node, ast.BoolOp):
        if any(isinstance(part, ast.BoolOp) for part in node.values):
            raise _Complex
        return _JOINS[node.op.__class__].join(map(_plainly, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        if isinstance(node.operand, ast.BoolOp):
            raise _Complex
        return f"not {_plainly(node.operand)}"
    if isinstance(node, ast.Compare):
        others = [f" {_SIGNS[op.__class__]} {_term(one)}" for op, one in zip(node.ops, node.comparators, strict=True)]
        return _term(node.left) + "".join(others)
    return _term(node)


def _term(node: ast.AST) -> str:
    """Two that are added, multiplied or divided; or one."""
    if isinstance(node, ast.BinOp) and node.op.__class__ in _OPERATORS:
        return f"{_atom(node.left)} {_OPERATORS[node.op.__class__]} {_atom(node.right)}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_atom(node.operand)}"
    return _atom(node)


def _atom(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Constant):
        return f"{_atom(node.value)}.{node.attr}"
    if isinstance(node, ast.Call) and not isinstance(node.func, ast.Constant):
        return f"{_atom(node.func)}({', '.join([*map(_plainly, node.args), *map(_keyword, node.keywords)])})"
    if isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Constant):
        return f"{_atom(node.value)}[{_plainly(node.slice)}]"
    raise _Complex


def _keyword(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise _Complex
    return f"{keyword.arg}={_plainly(keyword.value)}"


def _constant(node: ast.Constant) -> str:
    if node.kind is None and (node.value is None or node.value.__class__ in (bool, int, str)):
        return repr(node.value)
    raise _Complex
