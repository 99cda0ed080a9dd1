"""A method that is called once per micro-batch asks its own counter, and counts afterwards (ZG103).

def __init__(self, ...): self.n = 0

def deposit(self, loss):
    (loss / self.size).backward()
    due = self.n % self.size == 0           # true at once: the first group has one micro-batch
    self.n += 1
    if due:
        self.optimizer.step()

Where the counter's loop can be seen, accumulation.py tells it. Here the calls are the loop: it must be certain that
every call deposits and counts, and that nobody ever sets the counter to anything but 0.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.counters import ACCUMULATION
from zerograd.source.counting.ones import is_one
from zerograd.source.lowering.skeleton import Act
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("%") or function.scope.owner is None or function.loops:
        return
    if not any(isinstance(node.op, ast.Mod) for node in function.of(ast.BinOp)):
        return
    for branch in function.of(ast.If):
        asked = _asked(_kept(branch.test, function))
        if asked is None or branch.orelse or function.arms(branch.test):
            continue
        counter, size = path_of(asked.left) or "", written(asked.right)
        if not ACCUMULATION.search(size.lower()) or is_one(size, function.scope, function.nodes):
            continue
        if (
            _is_window(function, branch)
            and _counts_behind(function, counter, asked)
            and _begins_at_0(function, counter)
        ):
            yield note(REGISTRY["ZG103"], function.site(asked), certain=True, test="the test", first="1", size=size)


def _kept(test: ast.expr, function: Reading) -> ast.expr:
    """The question itself, where its answer is kept in a variable."""
    made = [node.value for node in function.of(ast.Assign) if isinstance(test, ast.Name) and _stores(node, test.id)]
    return made[0] if len(made) == 1 else test


def _stores(node: ast.Assign, path: str) -> bool:
    return any(path_of(target) == path for target in node.targets)


def _asked(test: ast.expr) -> ast.BinOp | None:
    """self.n % N, of `self.n % N == 0`, also beside other reasons to step."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=[first, *_]):
            return _asked(first)
        case ast.Compare(
            left=ast.BinOp(left=counter, op=ast.Mod()) as asked, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
        ) if (path_of(counter) or "").startswith("self."):
            return asked
    return None


def _is_window(function: Reading, branch: ast.If) -> bool:
    """Whether every call deposits, before the branch, and nobody steps or clears outside it."""
    kinds = (Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR)
    acts = [(act, act.node) for act in function.acts if act.kind in kinds and act.node is not None]
    inside = {act.kind for act, node in acts if holds(branch, node)}
    outside = [(act, node) for act, node in acts if not holds(branch, node)]
    deposits = [act for act, node in outside if _deposits_always(function, act, node, branch)]
    return inside == {Kind.CONSUME, Kind.CLEAR} and len(deposits) == len(outside) == 1


def _deposits_always(function: Reading, act: Act, node: ast.AST, branch: ast.If) -> bool:
    return act.kind is Kind.DEPOSIT and not function.arms(node) and act.site.line < branch.lineno


def _counts_behind(function: Reading, counter: str, asked: ast.BinOp) -> bool:
    """Whether the counter goes up by 1 with every call, once it was asked; and no call ends before that."""
    added = [node for node in function.of(ast.AugAssign) if path_of(node.target) == counter]
    if len(added) != 1 or not isinstance(added[0].op, ast.Add) or added[0] not in getattr(function.node, "body", ()):
        return False
    by = added[0].value
    early = any(node.lineno < added[0].lineno for kind in (ast.Return, ast.Raise) for node in function.of(kind))
    return isinstance(by, ast.Constant) and by.value == 1 and added[0].lineno > asked.lineno and not early


def _begins_at_0(function: Reading, counter: str) -> bool:
    """Whether the counter is made as 0, and set to nothing else by anybody in the file."""
    program, name = function.file.program, counter.rpartition(".")[2]
    if counter.count(".") != 1 or function.scope.owner is None:
        return False
    init = function.scope.owner.functions.get("__init__")
    made = [node for node in init.node.body if isinstance(node, ast.Assign) and _stores(node, counter)] if init else []
    nodes = below(program.tree)
    stored = [one for one in nodes if isinstance(one, ast.Attribute) and one.attr == name]
    stored = [one for one in stored if not isinstance(one.ctx, ast.Load)]
    zeros = [node.targets for node in nodes if isinstance(node, ast.Assign) and _is_zero(node.value)]
    known = {id(target) for targets in zeros for target in targets if path_of(target) == counter}
    counted = {id(node.target) for node in function.of(ast.AugAssign)}
    return len(made) == 1 and _is_zero(made[0].value) and all(id(one) in known | counted for one in stored)


def _is_zero(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) is int and value.value == 0
