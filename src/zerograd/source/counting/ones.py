"""Numbers that a file forbids to be more than 1: what would be wrong with a group of them never happens.

assert args.accumulation_steps == 1, "not with clipping"
if accumulation_steps > 1: raise NotImplementedError

They are known by their last name, wherever in the file they are refused: who parses the settings knows them by another
path than who trains with them. A name that says nothing is known where it is refused alone, and what is refused
together with something else (if args.clip and args.steps > 1) where that is spoken of too.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, below, inner_statements, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import ENDINGS

_NAME = pattern(r"[A-Za-z_]\w*(?=\W*$)")
# What stands behind a number that is compared with 1, and in front of it.
_BEHIND = pattern(r"[\"'\])]*\s*(?:[=!<>]=?|not in|in)\s*[\[(]?\s*(?:None,\s*|0,\s*)?[12]\b")
_BEFORE = pattern(r"\b[12]\s*[<>=!]=?\s*[\w.]*$")
_NEAR = 40  # characters
_MEANS = pattern(r"acc|grad|micro|virtual|sub_?batch|chunk|update|freq|every|interval")
_HALF = pattern(r"fp16|amp|half|mixed|bf16|precision")  # where this is on, a scaler is used
_THINGS = frozenset({"optimizer", "model", "batch_size", "loader", "epochs", "len", "device", "lr", "args"})  # no modes
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
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
        found = _refusals(home.tree, name[0]) if _is_compared(name[0], home.text) else None
        known[name[0]] = tuple(found) if found is not None else None
    refusals = known[name[0]]
    if refusals is None or own is None:
        return False
    away = [branch for branch in own.of(ast.If) if _sends_away(branch, size)]
    sent = (Refusal(branch, _modes(branch.test, name[0], answer=False)) for branch in away)
    return any(_holds(one, name[0], own) for one in refusals) or any(_is_asked(one, own) for one in sent)


class Refusal(NamedTuple):
    node: ast.stmt
    modes: frozenset[str]  # what else must be so, by name
    local: bool = True  # of a variable of one function: of args.steps, and of what stands at the top, all know


def _refusals(tree: ast.Module, name: str) -> Iterator[Refusal]:
    for node, inside in _always(tree):
        if isinstance(node, ast.Assert | ast.If) and (answer := _refused_by(node, name)) is not None:
            owned = (part for part in below(node.test) if isinstance(part, ast.Attribute | ast.Subscript))
            local = inside and all(_last(part) != name for part in owned)
            yield Refusal(node, _modes(node.test, name, answer=answer), local)


def _holds(refusal: Refusal, name: str, own: Nodes) -> bool:
    """Whether a function knows of it, and what else is asked for there is asked for in this function as well."""
    if refusal.local and not _MEANS.search(name.lower()) and refusal.node not in own.of(type(refusal.node)):
        return False
    return _is_asked(refusal, own)


def _is_asked(refusal: Refusal, own: Nodes) -> bool:
    """Whether a function speaks of what else must be so: outside of that nothing is refused."""
    if not refusal.modes:
        return True
    inside = {id(part) for part in below(refusal.node)}
    parts: list[ast.expr] = [*own.of(ast.Name), *own.of(ast.Attribute), *own.of(ast.Subscript)]
    used = {_last(part) for part in parts if id(part) not in inside}
    half = any(map(_HALF.search, refusal.modes)) and any("scale" in word for word in used)
    return half or not (refusal.modes & used).issubset(_THINGS)


def _modes(test: ast.expr, name: str, *, answer: bool) -> frozenset[str]:
    """clip, of `args.clip and args.steps > 1`, if that is not so; and of `args.steps == 1 or not args.clip`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _modes(operand, name, answer=not answer)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.Or) is answer:
            return frozenset[str]().union(*map(_words, values)) - {name}
    return frozenset()


def _words(test: ast.expr) -> set[str]:
    parts = below(test)
    owners = {id(part.value) for part in parts if isinstance(part, ast.Attribute | ast.Subscript)}
    named = (part for part in parts if isinstance(part, ast.Name | ast.Attribute | ast.Subscript))
    return {_last(part) for part in named if id(part) not in owners} - {""}


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
    names = [_last_of(size) for size in sizes]
    return any(_says(node.test, name, answer=True) and not _modes(node.test, name, answer=True) for name in names)


def _always(tree: ast.Module) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements of a file that no branch keeps from being run, with the branches themselves; and whether they
    stand in a function."""
    pending: list[tuple[ast.AST, bool]] = [(node, False) for node in tree.body]
    for node, inside in pending:  # it grows on the way
        if isinstance(node, ast.stmt):
            yield node, inside
        if not isinstance(node, ast.If) or "__name__" in written(node.test):
            pending += [(one, inside or isinstance(node, _FUNCTIONS)) for one in inner_statements(node)]


def _refused_by(node: ast.Assert | ast.If, name: str) -> bool | None:
    """The answer of its test where the number is 1, and without which nothing goes on."""
    arms = [(node.body, False), (node.orelse, True)] if isinstance(node, ast.If) else []
    answers = [answer for arm, answer in arms if _ends(arm, name)] if isinstance(node, ast.If) else [True]
    return next((answer for answer in answers if _says(node.test, name, answer=answer)), None)


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
    if not isinstance(branch.body[-1], ast.Return) or not _says(branch.test, _last_of(size), answer=False):
        return False
    return any(path_of(part) == size for part in below(branch.test))


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
