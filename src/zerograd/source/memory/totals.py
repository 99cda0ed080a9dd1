"""Losses that a method adds, with their graphs, to an attribute: once in every call, and a loop calls it (ZG402).

def step(self, x):                       for x in loader:
    loss.backward()                          self.step(x)
    self.running += loss
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.differentiated import feeds_a_loss
from zerograd.source.memory.histories import Fate, fate_beside
from zerograd.source.memory.keeping import begun_in
from zerograd.source.memory.kept import live_losses
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.automatic import is_known
from zerograd.source.values.callers import calls_of, runs
from zerograd.source.values.definitions import loops_around
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.owned import hands_itself_on
from zerograd.source.values.reading import Reading
from zerograd.source.values.rebound import is_rebound
from zerograd.source.values.sums import adds_to, weighed

_FEW = 12  # sums that are looked at in one function


def detect(function: Reading) -> Iterator[Finding]:
    owner, node = function.scope.owner, function.node
    if owner is None or not isinstance(node, ast.FunctionDef):
        return
    sums = [one for one in adds_to(function) if one[1].startswith("self.") and function.loop_around(one[0]) is None]
    losses = live_losses(function) if sums else {}
    for sum_, total, added in sums[:_FEW] if losses and is_known(owner) else ():
        loss = weighed(added, losses)
        if loss is None or not total.removeprefix("self.").isidentifier() or not _is_freed(function, loss, sum_):
            continue
        begun = begun_in(owner, Function(node, function.scope), sum_, total, function.file)
        if begun is None or feeds_a_loss(function, total, losses.keys()) or not _recurs(function, total, begun):
            continue
        if fate_beside(function, total) is Fate.GROWS:
            what = f"{written(sum_)} keeps the graphs of all calls"
            yield note(REGISTRY["ZG402"], function.site(sum_), certain=True, what=what)


def _is_freed(function: Reading, loss: str, node: ast.AST) -> bool:
    """Whether backward() was called on what is added, and nobody can go through it again."""
    deposit = live_losses(function)[loss]
    here, gone = function.arms(node), function.arms(deposit)
    quiet = function.without_grad(node) or is_rebound(function, loss, deposit, node)
    return here == gone and not deposit.keywords and not quiet


def _recurs(function: Reading, total: str, begun: frozenset[str]) -> bool:
    """Whether a loop over the data calls it, and nothing in the loop begins the sum anew."""
    for where, call in calls_of(function):
        loops = [loop for loop in loops_around(where, call) if not counts_to_few(loop, where)]
        if hands_itself_on(where) or hands_itself_on(function):
            return False
        inner = max(loops, key=lambda loop: (loop.lineno, loop.col_offset), default=None)
        if inner is None or not runs(call, where, function):
            continue
        called = {(path_of(one.func) or "").rpartition(".")[2] for one in where.of(ast.Call) if holds(inner, one)}
        last = total.rpartition(".")[2]
        stored = [one for one in where.of(ast.Attribute) if isinstance(one.ctx, ast.Store) and one.attr == last]
        if called.isdisjoint(begun) and not any(holds(inner, one) for one in stored):
            return True
    return False
