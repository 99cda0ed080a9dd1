"""Methods that a class inherits and that run its own: `fit` of a base class calls `run_epoch` of the subclass.

The base class alone shows no whole loop, nor does the subclass. Read as a method of the subclass, it is one.
"""

from collections.abc import Iterator

from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Call, walk
from zerograd.source.names.scopes import Function, Scope


def templates(program: Program) -> Iterator[tuple[Function, Scope]]:
    """Every inherited method that runs a method of a class of this file, with that class."""
    classes = dict.fromkeys(function.scope.owner for function in program.roots.functions)
    for cls in classes:
        if cls is None or not cls.bases:
            continue
        inherited = {name: method for base in _bases(cls) for name, method in base.functions.items()}
        for name, method in inherited.items():
            if name not in cls.functions and _runs_own(method, cls, program):
                yield method, cls


def _bases(cls: Scope) -> list[Scope]:
    """Farthest first: a nearer base's method stands in for one of the same name."""
    return list(cls.lineage())[:0:-1]


def _runs_own(method: Function, cls: Scope, program: Program) -> bool:
    calls = (node for node in walk(program.body_of(method)) if isinstance(node, Call) and node.shares_self)
    return any(call.on(cls).function.scope.owner is cls for call in calls)
