"""Functions of which others run a part, or around which they run something: contexts, generators, decorators.

@contextmanager
def updating(optimizer):
    optimizer.zero_grad()
    yield                       # here the block runs, and goes backward
    optimizer.step()

for batch in clearing(loader, optimizer): ...       its zero_grad() runs once for every batch
@with_cleared_gradients
def step(self, batch): ...                          and here it is the decorator's
"""

import ast
from collections.abc import Iterator

from zerograd.source.names.roles import role_of
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import Nodes, below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import BUILTINS

_EVENT = pattern(r"^(zero_grad|step|backward|grad|unscale_|clip_grad\w*)$")
_OTHERS = pattern(r"env|sched|prof|(^|_)p?bar$|timer|sim|game|world|state")  # that step too
_FEW = 4  # calls around what a loop goes over: tqdm(enumerate(batches))


def waits_inside(own: Nodes) -> bool:
    """Whether a function lets others do something in its middle, and leaves the backward() to them."""
    yields: list[ast.Yield | ast.YieldFrom] = [*own.of(ast.Yield), *own.of(ast.YieldFrom)]
    return bool(yields) and not any(node.attr == "backward" for node in own.of(ast.Attribute))


def is_run_in_parts(over: ast.expr, scope: Scope) -> bool:
    """Whether a loop goes over what a generator of this project hands out that does something to gradients, or is told
    what to do: batches(loader, optimizer.zero_grad)"""
    for one in over.args if isinstance(over, ast.Call) else ():
        if isinstance(one, ast.Attribute) and _EVENT.search(one.attr):
            return True
    return any(_does(function.node) for function in _iterated(over, scope))


def is_run_around(function: ast.AST, scope: Scope) -> bool:
    """Whether a function has a decorator of this project that does something to gradients."""
    around = (one.func if isinstance(one, ast.Call) else one for one in getattr(function, "decorator_list", ()))
    found = (scope.function(path_of(one) or "") for one in around)
    return any(one is not None and _does(one.node) for one in found)


def is_context(called: ast.expr, scope: Scope) -> bool:
    """Whether an object of this project does something to gradients where a block begins, or ends."""
    made = role_of(called, scope)
    cls = made.cls if made is not None else None
    ends = (cls.method(name) for name in ("__enter__", "__exit__")) if cls is not None else ()
    return any(one is not None and _does(one.node) for one in ends)


def _iterated(over: ast.expr, scope: Scope) -> Iterator[Function]:
    pending = [over]
    for one in pending:  # it grows on the way
        called = path_of(one.func) if isinstance(one, ast.Call) else None
        made = role_of(one, scope) if called not in BUILTINS else None
        goes = made.cls.method("__iter__") if made is not None and made.cls is not None else None
        if goes is not None:
            yield goes
        if isinstance(one, ast.Call):
            run = scope.function(called) if called is not None and called not in BUILTINS else None
            if run is not None:
                yield run
            pending += one.args[:1] if len(pending) < _FEW else []


def _does(function: ast.AST) -> bool:
    """Whether an event stands in it, be it in a function inside; self.step += 1 is none, nor is env.step(action)."""
    parts = below(function)
    found = [part for part in parts if isinstance(part, ast.Attribute) and _EVENT.search(part.attr)]
    called = {id(part.func) for part in parts if isinstance(part, ast.Call)} if found else set[int]()
    return any(part.attr != "step" or (id(part) in called and not _is_others(part.value)) for part in found)


def _is_others(owner: ast.expr) -> bool:
    return _OTHERS.search((path_of(owner) or "").rpartition(".")[2].lower()) is not None
