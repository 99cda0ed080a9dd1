"""Walking syntax trees, as fast as Python lets us: ast's own walkers spend most of their time on contexts and names."""

import ast

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "items")
_CHILDREN: dict[type, tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below, in text order, without the contexts (Load, Store) that say nothing to us."""
    kind = type(node)
    fields = _CHILDREN.get(kind)
    if fields is None:
        fields = _CHILDREN[kind] = tuple(
            name for name in kind._fields if name not in ("ctx", "type_ignores", "op", "ops")
        )
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def inner_statements(node: ast.AST) -> list[ast.AST]:
    """The statements directly below, and what holds more of them: handlers, cases, with-items."""
    found: list[ast.AST] = []
    for name in _BLOCKS:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += value
    return found


def own_nodes(function: ast.AST) -> list[ast.AST]:
    """Every node of a function or module, in text order, but for those of the functions and classes inside it.

    Asked for once per function: everything that has to look at all of it looks at this list.
    """
    found: list[ast.AST] = []
    stack = list(reversed(getattr(function, "body", [])))
    while stack:
        node = stack.pop()
        if isinstance(node, _INNER):
            continue
        found.append(node)
        below = children(node)
        below.reverse()
        stack += below
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
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
