"""Models that are replaced in a loop when no round comes behind, or are put back before one does (ZG010).

if epoch == epochs - 1:  model = deepcopy(best)              the last round
if bad > patience:       model = deepcopy(best); stop = True
model = deepcopy(best);  evaluate(model);  model = current
"""

import ast

from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import LoopNode, Reading

_LAST = pattern(r"last|final|done|stop|finish|\bend")


def goes_round(loop: LoopNode, change: ast.stmt, model: str, function: Reading) -> bool:
    """Whether a loop comes around to what trains with what the change has made."""
    if any(holds(one, change) for one in loop.orelse):
        return False
    tests = [branch.test for branch, _ in function.arms(change) if holds(loop, branch)]
    if any(_LAST.search(written(test).lower()) or _asks_for_end(test, loop) for test in tests):
        return False
    return not _is_left(loop, change, function) and not _is_put_back(loop, change, model, function)


def _asks_for_end(test: ast.expr, loop: LoopNode) -> bool:
    """epoch == epochs - 1, of a loop over range(epochs)"""
    if not isinstance(loop, ast.For):
        return False
    bounds = {path_of(part) for part in below(loop.iter)} - {None, "range"}
    counted = {path_of(part) for part in below(loop.target)} - {None}
    compared = [part for part in below(test) if isinstance(part, ast.Compare)]
    named = [{path_of(part) for part in below(one)} for one in compared]
    return any(names & bounds and names & counted for names in named)


def _is_left(loop: LoopNode, change: ast.stmt, function: Reading) -> bool:
    """stop = True beside the change, and somebody asks for it; or what the loop itself asks for is set."""
    arms = function.arms(change)
    inmost = max((branch for branch, _ in arms), key=place, default=None)
    near = [one for one in function.of(ast.Assign) if inmost is not None and holds(inmost, one)]
    beside = [one for one in near if holds(loop, one) and function.arms(one) == arms]
    asked = {path_of(part) for part in below(loop.test)} if isinstance(loop, ast.While) else set()
    tests = {path_of(part) for one in function.of(ast.If) if holds(loop, one) for part in below(one.test)} - {None}
    true = [one for one in beside if isinstance(one.value, ast.Constant) and one.value.value is True]
    flags = {path_of(one.targets[0]) for one in true}
    return bool(flags & (tests | asked)) or any(path_of(one.targets[0]) in asked - {None} for one in beside)


def _is_put_back(loop: LoopNode, change: ast.stmt, model: str, function: Reading) -> bool:
    stores: list[ast.Name | ast.Attribute] = [*function.of(ast.Name), *function.of(ast.Attribute)]
    again = [one for one in stores if isinstance(one.ctx, ast.Store) and path_of(one) == model and holds(loop, one)]
    return any(place(one) > place(change) and function.arms(one) <= function.arms(change) for one in again)
