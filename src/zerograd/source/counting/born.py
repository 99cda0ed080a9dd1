"""Numbers that an object is born with: self.step = 0 in __init__, and counted up in one place alone."""

import ast

from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of


def born_with(path: str, scope: Scope) -> int | None:
    """What a counter is before anything was counted; None, if somebody sets it elsewhere: to where a run broke off."""
    methods = [one for cls in scope.owner.lineage() for one in cls.functions.values()] if scope.owner else []
    stored = [
        (method.node.name, node)
        for method in methods
        for node in below(method.node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and path_of(node) == path
    ]
    made = [
        node.value
        for method in methods
        for node in method.node.body
        if method.node.name == "__init__" and isinstance(node, ast.Assign) and path in map(path_of, node.targets)
    ]
    # Twice in all: where it is made, and where it is counted.
    if len(stored) != 2 or sum(name == "__init__" for name, _ in stored) != 1 or len(made) != 1:
        return None
    begin = made[0].value if isinstance(made[0], ast.Constant) else None
    return begin if type(begin) is int else None
