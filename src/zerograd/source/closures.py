"""A closure that an optimizer calls again and again inside its step."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.nodes import written
from zerograd.source.reading import Reading
from zerograd.source.scopes import path_of


def detect(function: Reading) -> Iterator[Finding]:
    """optimizer.step(closure) with a closure of this file that deposits and does not clear."""
    if not function.file.says("closure"):
        return
    cleared = bool(function.having(Kind.CLEAR))
    for act in function.having(Kind.CONSUME):
        if act.scaled or not isinstance(act.node, ast.Call) or not act.node.args:
            continue
        name = path_of(act.node.args[0])
        closure = function.scope.function(name) if name else None
        if closure is None:
            continue
        calls = [node for node in ast.walk(closure.node) if isinstance(node, ast.Call)]
        names = {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}
        clears = "zero_grad" in names or "zero_" in names or ".grad = None" in written(closure.node)
        if "backward" in names and not clears:
            yield note(REGISTRY["ZG009"], act.site, certain=not cleared, step=act.what)
