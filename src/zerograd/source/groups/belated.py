"""A clear that comes with the group's last micro-batch, and before its backward: all others are erased (ZG002).

for batch in loader:
    if self.is_update_step(progress):
        optimizer.zero_grad()
    loss(batch).backward()
    if self.is_update_step(progress):
        optimizer.step()

Where the question is one of counters, the interpreter tells it. Here nothing need be known of what is asked but that it
is the same twice, and hangs on how far the training is: when it says no, a backward() was for nothing.
"""

import ast
from collections.abc import Iterator
from itertools import chain

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import erased
from zerograd.source.lowering.skeleton import Act
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import Reading

_UPDATES = pattern(r"update|accum|sync|boundary|(^|_)step")


def detect(function: Reading) -> Iterator[Finding]:
    steps, clears = function.having(Kind.CONSUME), function.having(Kind.CLEAR)
    if len(steps) != 1 or not clears or len({act.slot for act in (*steps, *clears)}) != 1:
        return
    if function.file.reads_gradients or function.file.program.has_several:
        return
    step, clear = steps[0], clears[0]
    if clear.partial or any(not _follows(function, other, step) for other in clears[1:]):
        return
    guard, other = _guard(function, clear), _guard(function, step)
    if guard is None or other is None or guard is other or written(guard.test) != written(other.test):
        return
    loop = function.loop_around(clear.node) if clear.node is not None else None
    if loop is None or loop is not function.loop_around(other) or not _counts(guard.test, loop):
        return
    between = [act for act in function.having(Kind.DEPOSIT) if clear.site < act.site < step.site]
    if _may_change(function, guard, other, between):
        return
    beside = function.arms(guard.test)
    if between and all(act.node is not None and function.arms(act.node) == beside for act in between):
        related = (Related(between[0].site, "what this deposits in the iterations before is lost"),)
        yield erased(REGISTRY["ZG002"], clear.site, clear.what, related)


def _guard(function: Reading, act: Act) -> ast.If | None:
    """The branch right around an event, if it has no other arm."""
    around = [branch for branch, taken in function.arms(act.node) if taken] if act.node is not None else []
    inner = max(around, key=lambda branch: branch.lineno, default=None)
    return inner if inner is not None and not inner.orelse else None


def _follows(function: Reading, clear: Act, step: Act) -> bool:
    """A clear right behind the step."""
    if clear.node is None or step.node is None:
        return False
    return step.site < clear.site and function.arms(clear.node) == function.arms(step.node)


def _may_change(function: Reading, guard: ast.If, other: ast.If, between: list[Act]) -> bool:
    """Whether the answer may be another one the second time: something it asks for is bound, or something else than the
    deposits is called."""
    begin, end = place(guard)[1], place(other)[0]
    asked = {part.id for part in below(guard.test) if isinstance(part, ast.Name)}
    names = (name for name in function.of(ast.Name) if isinstance(name.ctx, ast.Store) and name.id in asked)
    calls = (call for call in function.of(ast.Call) if not any(act.node and holds(act.node, call) for act in between))
    return any(begin < place(node)[0] < end for node in chain(names, calls))


def _counts(test: ast.expr, loop: ast.AST) -> bool:
    """Whether a function is asked that is named for updates, of something that moves on in the loop: by its own method,
    or because the loop counts it. A batch that is asked whether it is worth learning from is none."""
    called = path_of(test.func) if isinstance(test, ast.Call) else None
    if called is None or not isinstance(test, ast.Call) or _UPDATES.search(called.rpartition(".")[2].lower()) is None:
        return False
    given = {path_of(one) for one in test.args} - {None}
    calls = (part.value for part in below(loop) if isinstance(part, ast.Expr))
    methods = [call.func for call in calls if isinstance(call, ast.Call)]
    moved = {path_of(func.value) for func in methods if isinstance(func, ast.Attribute)}
    added = {path_of(part.target) for part in below(loop) if isinstance(part, ast.AugAssign)}
    return not given.isdisjoint(moved | added | _counters(loop))


def _counters(loop: ast.AST) -> set[str | None]:
    """i, of for i, batch in enumerate(loader)"""
    target = loop.target if isinstance(loop, ast.For) else None
    return {path_of(target.elts[0] if isinstance(target, ast.Tuple) else target)} if target is not None else set()
