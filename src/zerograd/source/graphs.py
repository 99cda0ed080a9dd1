"""Graphs that are kept alive and that nobody will use again."""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.iterations import is_closed
from zerograd.source.losses import loss_of
from zerograd.source.nodes import holds, place, written
from zerograd.source.reading import LoopNode, Reading
from zerograd.source.scopes import path_of
from zerograd.source.skeleton import Call, walk

_DATA = re.compile(r"batch|iter|len\(|steps?\b|size")
_FEW = 12  # sums that are looked at in one function: a tangle of hundreds takes seconds
_USES_AGAIN = ("autograd.grad", "autograd.backward")


def detect(function: Reading) -> Iterator[Finding]:
    yield from _summed(function)
    if function.file.says("retain_graph"):
        yield from _retained(function)


def _retained(function: Reading) -> Iterator[Finding]:
    """backward(retain_graph=True) behind which nothing goes through that graph again."""
    deposits = [act for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    for act in deposits:
        call = act.node
        assert isinstance(call, ast.Call)
        given = {k.arg: k.value for k in call.keywords}
        kept = given.get("retain_graph")
        if "create_graph" in given or not isinstance(kept, ast.Constant) or kept.value is not True:
            continue
        loop = function.loop_around(call)
        inside = [node for node in function.of(ast.Call) if loop is None or holds(loop, node)]
        others = [other.node for other in deposits if other.node is not call and other.node]
        others += [node for node in inside if (path_of(node.func) or "").endswith(_USES_AGAIN)]
        if any(place(other) > place(call) and not function.excludes(call, other) for other in others):
            continue
        loss = loss_of(call)
        certain = loss is not None and is_closed(function, loss, loop) and not _hands_over(function)
        what = f"{act.what[:-1]}retain_graph=True) keeps a graph that nothing goes through again"
        yield note(REGISTRY["ZG402"], act.site, certain=certain, what=what)


def _hands_over(function: Reading) -> bool:
    """Whether losses leave this function, or something of this file that deposits is called: either may go through the
    graph again."""
    if any("loss" in written(node) for node in function.of(ast.Return)):
        return True
    calls = [node for node in walk(function.block) if isinstance(node, Call)]
    return any(function.file.program.body_of(call.function) for call in calls)


def _summed(function: Reading) -> Iterator[Finding]:
    """total += loss, where loss is what backward() was called on and total is never itself differentiated."""
    losses = {
        name
        for act in function.having(Kind.DEPOSIT)
        if isinstance(act.node, ast.Call) and isinstance(act.node.func, ast.Attribute)
        if (name := path_of(act.node.func.value))
    }
    sums = [
        node for node in function.of(ast.AugAssign) if isinstance(node.op, ast.Add) and path_of(node.value) in losses
    ]
    for node in sums[:_FEW]:
        total, added = path_of(node.target), path_of(node.value)
        if not total or total in losses:
            continue
        loop = function.loop_around(node)
        if loop is None or isinstance(node.target, ast.Subscript) or _feeds_a_loss(function, total, losses):
            continue
        bound: list[ast.Assign | ast.AugAssign] = [*function.of(ast.Assign), *function.of(ast.AugAssign)]
        taken = any(_takes_value(other) for other in bound if other is not node and _assigns(other, added or ""))
        fresh = _resets(function, loop, total) or _counts_to_few(loop)
        if not taken and not fresh and not function.without_grad(node):
            what = f"{written(node)} keeps the graph of every iteration alive"
            yield note(REGISTRY["ZG402"], function.site(node), certain=True, what=what)


def _assigns(node: ast.Assign | ast.AugAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(path_of(part) == name for target in targets for part in ast.walk(target))


def _takes_value(node: ast.AST) -> bool:
    """loss = loss.item(), loss = loss.detach(): from here on it is a number."""
    return any(isinstance(part, ast.Attribute) and part.attr in ("item", "detach", "data") for part in ast.walk(node))


def _counts_to_few(loop: LoopNode) -> bool:
    """for _ in range(n): an inner loop over repetitions, not over the data."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or path_of(loop.iter.func) != "range":
        return False
    return not any(_DATA.search(written(bound)) for bound in loop.iter.args)


def _feeds_a_loss(function: Reading, total: str, losses: set[str]) -> bool:
    """Whether the sum is itself differentiated later, under whatever name."""
    return any(
        any(path_of(part) == total for part in ast.walk(node.value))
        and any(path_of(target) in losses for target in node.targets)
        for node in function.of(ast.Assign)
    )


def _resets(function: Reading, loop: LoopNode, name: str) -> bool:
    return any(holds(loop, node) and _assigns(node, name) for node in function.of(ast.Assign))
