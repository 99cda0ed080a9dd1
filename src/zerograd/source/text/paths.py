"""What an expression is called: the path that it names, or its words as a person would say them."""

import ast
from ast import Attribute, Constant, Name, Subscript


def path_of(node: ast.AST) -> str | None:
    """The path an expression names, or None if it is not a plain name."""
    # Asked more often than anything else: the type alone is the fastest question there is.
    if type(node) is Name:
        return node.id
    if type(node) is Attribute:
        inner = node.value
        if type(inner) is Name:
            return f"{inner.id}.{node.attr}"
        base = path_of(inner)
        return None if base is None else f"{base}.{node.attr}"
    if type(node) is Subscript:
        base = path_of(node.value)
        if base is None:
            return None
        return f"{base}[{node.slice.value!r}]" if type(node.slice) is Constant else f"{base}[*]"
    return None


def short(func: ast.expr) -> str:
    """The call's name as a person would say it: `scaler.scale(...).backward`, not the whole expression."""
    match func:
        case ast.Attribute(value=ast.Call(func=inner), attr=attr):
            return f"{short(inner)}(...).{attr}"
        case ast.Attribute(value=value, attr=attr):
            return f"{path_of(value) or '...'}.{attr}"
        case ast.Name(id=name):
            return name
    return "..."
