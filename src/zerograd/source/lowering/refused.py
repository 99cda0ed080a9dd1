"""Functions that give an iteration up by themselves: what they leave, the next one finds.

def update(self):
    norm = clip_grad_norm_(self.model.parameters(), 1.0)
    if not torch.isfinite(norm):
        self.refused += 1
        return                      # the gradients stay, and are not finite for ever
    self.optimizer.step()
    self.optimizer.zero_grad()

Whoever calls it must not ask how it went: he might clear. And a loss that is refused before its backward() leaves
nothing, so it is the gradient's norm that must be asked for, unless the function itself has gone backward before.
"""

import ast

from zerograd.source.counting.questions import asks_only_for_nan
from zerograd.source.lowering.swallowed import only_tell
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, below, holds, written
from zerograd.source.text.paths import path_of

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def is_refused(
    node: ast.Return, test: ast.expr, function: ast.AST, scope: Scope, own: Nodes, *, deposited: bool
) -> bool:
    """Whether a function that was to step returns because of a NaN. `test`: the last that was asked before it;
    `deposited`: whether it has gone backward by then."""
    if not asks_only_for_nan(test) or not (deposited or _is_norm(test, own)):
        return False
    arm = next((branch.body for branch in own.of(ast.If) if branch.test is test), [])
    if not arm or arm[-1] is not node or not only_tell(arm[:-1]) or not _is_broken(test):
        return False
    steps = [call for call in own.of(ast.Call) if isinstance(call.func, ast.Attribute) and call.func.attr == "step"]
    steps_behind = any(step.lineno > node.lineno for step in steps)
    return steps_behind and not is_in_loop(node, own) and _nobody_asks(function, scope)


def is_in_loop(node: ast.AST, own: Nodes) -> bool:
    """Whether a node stands in a loop of its function: there a return ends more than one iteration."""
    return any(holds(loop, node) for kind in _LOOPS for loop in own.of(kind))


def _is_broken(test: ast.expr) -> bool:
    """not isfinite(norm), isnan(norm) or isinf(norm)"""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.Or) and all(map(_is_broken, test.values))
    denied = isinstance(test, ast.UnaryOp)
    asked = test.operand if isinstance(test, ast.UnaryOp) else test
    return isinstance(asked, ast.Call | ast.Attribute) and ("finite" in written(asked)) is denied


def _is_norm(test: ast.expr, own: Nodes) -> bool:
    """Whether it is the norm of the gradients that is asked for, in a function that does nothing but step."""
    names = {path for part in below(test) if (path := path_of(part)) is not None}
    made = [node.value for node in own.of(ast.Assign) if path_of(node.targets[0]) in names]
    clipped = bool(made) and all("clip_grad_norm" in written(value) for value in made)
    return clipped and not any(part.attr == "backward" for part in own.of(ast.Attribute))


def _nobody_asks(function: ast.AST, scope: Scope) -> bool:
    """Whether everyone who calls a function, and somebody does, leaves what it returns alone."""
    home, name = scope.module.home, getattr(function, "name", None)
    calls = home.calls_named(name) if home is not None and name is not None else []
    runs = [where.function(path_of(call.func) or "") for _, where, call in calls]
    if home is None or not any(one is not None and one.node is function for one in runs):
        return False
    nodes = {id(node): node for node, _, _ in calls}.values()
    alone = {id(one.value) for node in nodes for one in home.nodes(node).of(ast.Expr)}
    return all(id(call) in alone for _, _, call in calls)
