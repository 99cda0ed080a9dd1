"""A helper that chooses one of two by a question, read where it is called.

def context_of(self, i, last):
    if i % self.size != 0 and not last:       with self.context_of(step, step + 1 == n):
        return self.model.no_sync()      ->   with self.model.no_sync() if step % self.size != 0 and not (...)
    return nullcontext()                           else nullcontext():
"""

import ast
from copy import deepcopy

from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import called
from zerograd.source.values.reading import Reading


def chosen_by(call: ast.Call, function: Reading) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """The question in the caller's words, what is returned if it is true, and what if not."""
    helper = called(path_of(call.func) or "", function.scope)
    asked = _asked(helper.node) if helper is not None else None
    if helper is None or asked is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    test = _in_place(asked[0], call, helper)
    return None if test is None else (test, asked[1], asked[2])


def _asked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """Of a function that does nothing but choose."""
    match [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]:
        case [ast.If(test=test, body=[ast.Return(value=ast.expr() as yes)], orelse=[]), ast.Return(ast.expr() as no)]:
            return test, yes, no
        case [
            ast.If(
                test=test,
                body=[ast.Return(value=ast.expr() as yes)],
                orelse=[ast.Return(value=ast.expr() as no)],
            )
        ]:
            return test, yes, no
        case [ast.Return(value=ast.IfExp(test=test, body=yes, orelse=no))]:
            return test, yes, no
    return None


def _in_place(test: ast.expr, call: ast.Call, helper: Function) -> ast.expr | None:
    """The question with what was handed in the place of the parameters; None if it asks for something else."""
    given = dict(arguments(call, helper))
    shared = {"self"} if (path_of(call.func) or "").startswith("self.") else set()
    names = {part.id for part in below(test) if isinstance(part, ast.Name)}
    if not names <= given.keys() | shared:
        return None
    copy = _Handed(given).visit(deepcopy(test))
    for part in below(copy):  # a counter is asked where the call stands
        ast.copy_location(part, call)
    return copy if isinstance(copy, ast.expr) else None


class _Handed(ast.NodeTransformer):
    def __init__(self, given: dict[str, ast.expr]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return deepcopy(self._given[node.id]) if node.id in self._given else node
