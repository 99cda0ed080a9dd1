"""Methods of a wrapper that do nothing but move its schedule: optimizer.schedule(), of def schedule(self):
self.scheduler.step(). What comes too early is their call; they themselves are as they should be."""

import ast
from functools import lru_cache

from zerograd.source.lowering.callees import Callee
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of


def moved_by(callee: Callee) -> str | None:
    """The schedule that such a method of another object moves, by its own name for it."""
    if callee.receiver in (None, "self") or callee.function.scope.module.old:
        return None
    match [one for one in callee.function.node.body if not _is_told(one)]:
        case [ast.Expr(value=ast.Call(func=ast.Attribute(value=schedule, attr="step"), args=[], keywords=[]))]:
            path = path_of(schedule) or ""
            return path if path.startswith("self.") else None
    return None


def is_guessed(moved: str, cls: Scope | None) -> bool:
    """Whether a schedule is what a class was handed, and known by its name alone: it may be one of anything."""
    return cls is not None and any(moved in one.kept for one in cls.lineage())


def is_begun(cls: Scope | None) -> bool:
    """Whether an object steps when it is made, as one does to quiet torch's warning: nothing is skipped then."""
    init = cls.method("__init__") if cls is not None else None
    parts = below(init.node) if init is not None else []
    calls = [one.func for one in parts if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Attribute) and one.attr == "step" for one in calls)


def _is_told(node: ast.stmt) -> bool:
    """A docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@lru_cache(maxsize=8)  # asked at every step of a schedule
def is_old(module: Scope) -> bool:
    """Whether a file, or one that it has functions from, is written for a torch where a schedule moved first."""
    imported = (module.function(name) for name in module.imports)
    return module.old or any(function.scope.module.old for function in imported if function is not None)
