"""A step in every Nth iteration, and a clear in each of them: of N gradients it gets one (ZG002).

def train(self, iteration, x):
    optimizer.zero_grad()
    loss(x).backward()
    if iteration % 8 == 0:
        optimizer.step()

Where the counter's loop can be seen the interpreter tells it. Here nothing need be known of the counter: in whatever
iterations the test says no, a backward() was for nothing.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import erased
from zerograd.source.counting.ones import is_one
from zerograd.source.lowering.skeleton import Act
from zerograd.source.text.nodes import holds, place, written
from zerograd.source.values.reading import Reading

_FEW = 8  # branches: a tangle has more


def detect(function: Reading) -> Iterator[Finding]:
    branches = [
        branch for branch in function.of(ast.If) if not branch.orelse and _asks_for_the_nth(branch.test, function)
    ]
    if not branches or len(branches) > _FEW or function.file.reads_gradients or _may_leave(function):
        return
    steps = [act.node for act in function.having(Kind.CONSUME) if act.node is not None]
    if any(not any(holds(branch, step) for branch in branches) for step in steps):
        return  # what another one steps on is not in vain
    for branch in branches:
        inside = [act for act in function.acts if act.node is not None and holds(branch, act.node)]
        if any(act.kind in (Kind.CLEAR, Kind.DEPOSIT) for act in inside):
            continue
        for slot in {act.slot: None for act in inside if act.kind is Kind.CONSUME and act.slot is not None}:
            yield from _in_vain(function, branch, slot)


def _may_leave(function: Reading) -> bool:
    """Whether an iteration, or the call, may end early."""
    ends = (*function.of(ast.Return), *function.of(ast.Continue), *function.of(ast.Break))
    return any(function.arms(one) for one in ends)


def _in_vain(function: Reading, branch: ast.If, slot: str) -> Iterator[Finding]:
    steps = [act for act in function.having(Kind.CONSUME) if act.slot == slot]
    clears = [act for act in function.having(Kind.CLEAR) if act.slot in (slot, None)]
    if len(clears) != 1 or any(act.node is None or not holds(branch, act.node) for act in steps):
        return
    clear, behind = clears[0], [act for act in function.having(Kind.DEPOSIT) if _runs_with(function, act, branch)]
    lost = [act for act in behind if act.site.line > clear.site.line]
    if lost and not clear.partial and _runs_with(function, clear, branch):
        related = (Related(steps[0].site, "not every micro-batch reaches this step"),)
        yield erased(REGISTRY["ZG002"], clear.site, clear.what, related)


def _runs_with(function: Reading, act: Act, branch: ast.If) -> bool:
    """Whether it stands in front of the branch, and runs whenever that is asked."""
    if act.node is None or place(act.node) >= place(branch):
        return False
    if not any(act.node is one.value for one in function.of(ast.Expr)):
        return False  # what stands in a test runs if it is asked
    around = [loop for loop in function.loops if holds(loop, branch)]
    same = all(holds(loop, act.node) == (loop in around) for loop in function.loops)
    return same and function.arms(act.node) <= function.arms(branch)


def _asks_for_the_nth(test: ast.expr, function: Reading) -> bool:
    """i % N == 0, of an N that may be more than 1."""
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Mod(), right=size), ops=[ast.Eq()]):
            one = isinstance(size, ast.Constant) and size.value == 1
            return not one and not is_one(written(size), function.scope, function.nodes)
    return False
