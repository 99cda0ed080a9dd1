"""Loops over a name: what that goes through.

bar = tqdm(enumerate(loader))
with tqdm(enumerate(loader)) as bar
bar = enumerate(loader); bar = tqdm(bar)        # it is only shown besides
"""

import ast
from collections import Counter

from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of

_SHOWS = ("tqdm", "track")


def bars_of(nodes: Nodes) -> dict[str, ast.expr]:
    """By the names that are bound to one thing only."""
    stored = Counter(name.id for name in nodes.of(ast.Name) if isinstance(name.ctx, ast.Store))
    made = [(node.targets[0], node.value) for node in nodes.of(ast.Assign)]
    made += [(item.optional_vars, item.context_expr) for item in nodes.of(ast.withitem) if item.optional_vars]
    found: dict[str, ast.expr] = {}
    for target, value in made:
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
            continue
        name = (path_of(value.func) or "").rpartition(".")[2]
        if name in _SHOWS and any(path_of(one) == target.id for one in value.args[:1]):
            stored[target.id] -= 1
        elif name in (*_SHOWS, "enumerate"):
            found[target.id] = value
    return {name: value for name, value in found.items() if stored[name] == 1}
