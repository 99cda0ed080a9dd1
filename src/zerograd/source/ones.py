"""Numbers that a file forbids to be more than 1: what would be wrong with a group of them never happens.

assert args.accumulation_steps == 1, "not with clipping"
if accumulation_steps > 1: raise NotImplementedError

They are known by their last name, wherever in the file they are refused: who parses the settings knows them by another
path than who trains with them.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from zerograd.source.nodes import Nodes, below, inner_statements, written
from zerograd.source.paths import path_of
from zerograd.source.scopes import Scope
from zerograd.source.wording import ENDINGS

_NAME = re.compile(r"[A-Za-z_]\w*(?=\W*$)")
# What stands behind a number that is compared with 1, and in front of it.
_BEHIND = re.compile(r"[\"'\])]*\s*(?:[=!<>]=?|not in|in)\s*[\[(]?\s*(?:None,\s*|0,\s*)?[12]\b")
_BEFORE = re.compile(r"\b[12]\s*[<>=!]=?\s*[\w.]*$")
_NEAR = 40  # characters
_AT_MOST_ONE = ((ast.Eq, 1), (ast.LtE, 1), (ast.Lt, 2))
_MORE = ((ast.NotEq, 1), (ast.Gt, 1), (ast.GtE, 2))
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}


def is_one(size: str, scope: Scope, own: Nodes | None = None) -> bool:
    """Whether a number is refused if it is not 1; or by one of a function's `own` branches sent another way."""
    name, home = _NAME.search(size), scope.module.home
    if name is None or home is None:
        return False
    known = scope.module.ones
    if name[0] not in known:
        asked = _is_compared(name[0], home.text)
        known[name[0]] = any(_refuses(node, name[0]) for node in _always(home.tree)) if asked else None
    if not known[name[0]] and known[name[0]] is not None and own is not None:
        return any(_sends_away(branch, size) for branch in own.of(ast.If))
    return bool(known[name[0]])


def _is_compared(name: str, text: str) -> bool:
    """Whether a number of this name is compared with 1 somewhere: a look at the text, before one at the tree."""
    at = text.find(name)
    while at >= 0:
        end, whole = at + len(name), not text[at - 1 : at].isidentifier()  # no part of a longer word
        if whole and (_BEHIND.match(text, end) or _BEFORE.search(text, max(at - _NEAR, 0), at)):
            return True
        at = text.find(name, end)
    return False


def is_refused_here(node: ast.Assert, sizes: Iterable[str]) -> bool:
    """Whether an assertion says that one of these is 1: where it stands under a branch, it holds from there on."""
    return any(_says(node.test, _last_of(size), answer=True) for size in sizes)


def _always(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a file that no branch keeps from being run, with the branches themselves."""
    pending: list[ast.AST] = [*tree.body]
    for node in pending:  # it grows on the way
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.If) or "__name__" in written(node.test):
            pending += inner_statements(node)


def _refuses(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Assert(test=test):
            return _says(test, name, answer=True)
        case ast.If(test=test, body=body, orelse=orelse):
            arms = [(body, False), (orelse, True)]
            return any(_ends(arm, name) and _says(test, name, answer=answer) for arm, answer in arms)
    return False


def _ends(arm: list[ast.stmt], name: str) -> bool:
    """Whether nobody comes out of an arm, or the number is 1 behind it."""
    match arm[-1] if arm else None:
        case ast.Raise():
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return path_of(func) in ENDINGS or (path_of(func) or "").endswith(".error")  # parser.error(...)
    made = [one for one in arm if isinstance(one, ast.Assign) and _last(one.targets[0]) == name]
    return any(isinstance(one.value, ast.Constant) and one.value.value == 1 for one in made)


def _sends_away(branch: ast.If, size: str) -> bool:
    """if accumulation_steps > 1: return train_in_groups(...)"""
    named = any(path_of(part) == size for part in below(branch.test))
    return named and isinstance(branch.body[-1], ast.Return) and _says(branch.test, _last_of(size), answer=False)


def _says(test: ast.expr, name: str, *, answer: bool) -> bool:
    """Whether a number is 1 where a test has this answer; of several questions, those beside it are not read."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _says(operand, name, answer=not answer)
        case ast.BoolOp(values=values):
            return any(_says(value, name, answer=answer) for value in values)
        case ast.Compare(left=ast.Constant() as value, ops=[op], comparators=[right]) if type(op) in _MIRRORED:
            return _says(ast.Compare(right, [_MIRRORED[type(op)]()], [value]), name, answer=answer)
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=int() as value)]):
            return _last(left) == name and (type(op), value) in (_AT_MOST_ONE if answer else _MORE)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.Tuple() | ast.List() as few]):
            allowed = all(isinstance(one, ast.Constant) and one.value in (None, 0, 1) for one in few.elts)
            return _last(left) == name and allowed and isinstance(op, ast.In) is answer
    return False


def _last(node: ast.expr) -> str:
    """steps, of args.steps, args["steps"] and of int(steps)"""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
        case ast.Call(args=[one]):
            return _last(one)
    return _last_of(path_of(node) or "")


def _last_of(path: str) -> str:
    return path.rpartition(".")[2]
