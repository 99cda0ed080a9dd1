"""Tests and their answers: `if self.amp:` here and again below, or in the next iteration, is one question.

A fact remembers how tests were answered on its path, so that paths no execution takes are not walked. Only pure tests
(names, attributes, comparisons of them) are remembered, only where they decide about an event, and only until something
they mention is assigned.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from zerograd.core.facts import Assumptions
from zerograd.source.text.nodes import Nodes, below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_IMPURE: frozenset[type[ast.AST]] = frozenset(
    {ast.Call, ast.Await, ast.Yield, ast.NamedExpr, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.BinOp}
)
_WORD = pattern(r"\w+")
_COMPARISON = pattern(r"([\w.]+) (==|<=|>=|<|>) (-?\d+)")
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Atom(NamedTuple):
    """A question with an answer of its own."""

    key: str


class Not(NamedTuple):
    test: "Test"


class All(NamedTuple):
    tests: tuple["Test | None", ...]
    key: str = ""  # of a test that is pure as a whole: that it failed is remembered, though not which part did


class Some(NamedTuple):
    tests: tuple["Test | None", ...]
    key: str = ""


Test = Atom | Not | All | Some


def decide(test: Test | None, assumed: Assumptions) -> bool | None:
    """The answer, as far as it follows from what was assumed."""
    match test:
        case Atom(key):
            if (key, True) in assumed:
                return True
            if (key, False) in assumed or _is_other(key, assumed):
                return False
            return _by_number(key, assumed) if assumed and _number(key) is not None else None
        case Not(inner):
            answer = decide(inner, assumed)
            return None if answer is None else not answer
        case All(tests, whole):
            answers = [decide(one, assumed) for one in tests]
            known = False if (whole, False) in assumed else None
            return False if False in answers else known if None in answers else True
        case Some(tests, whole):
            answers = [decide(one, assumed) for one in tests]
            known = True if (whole, True) in assumed else None
            return True if True in answers else known if None in answers else False
    return None


def _is_other(key: str, assumed: Assumptions) -> bool:
    """`mode == 'train'` is answered by knowing that `mode == 'valid'`."""
    name, equals, value = key.partition(" == ")
    if not equals or (value[:1] not in ("'", '"') and not value.isdigit()):
        return False
    return any(answer and other.startswith(f"{name} == ") and other != key for other, answer in assumed)


def _by_number(key: str, assumed: Assumptions) -> bool | None:
    """`n > 1` is answered by knowing that `n == 1`."""
    for other, answer in assumed:
        one, known = _number(key), _number(other)
        if one is not None and known is not None and one[0] == known[0]:
            places = (number + step for number in (one[2], known[2]) for step in (-1, -0.5, 0, 0.5, 1))
            left = [place for place in places if _COMPARED[known[1]](place, known[2]) is answer]
            answers = {_COMPARED[one[1]](place, one[2]) for place in left}
            if len(answers) == 1:
                return answers.pop()
    return None


@lru_cache(maxsize=4096)  # asked of every answer that is remembered
def _number(key: str) -> tuple[str, str, int] | None:
    """A comparison with a number: what is compared, how, and with which."""
    match = _COMPARISON.fullmatch(key)
    return None if match is None else (match[1], match[2], int(match[3]))


Keys = dict[str, list[str]]  # of questions, by the words in them


def keys_of(nodes: Nodes) -> Keys:
    """The keys of all questions that a function asks."""
    asking: list[ast.If | ast.IfExp] = [*nodes.of(ast.If), *nodes.of(ast.IfExp)]
    return by_word({key for node in asking for key in questions_in(read_test(node.test))})


def by_word(keys: Iterable[str]) -> Keys:
    found: Keys = {}
    for key in keys:
        for word in set(_WORD.findall(key)):
            found.setdefault(word, []).append(key)
    return found


def questions_in(test: Test | None) -> Iterator[str]:
    match test:
        case Atom(key):
            yield key
        case Not(inner):
            yield from questions_in(inner)
        case All(tests, whole) | Some(tests, whole):
            if whole:
                yield whole
            for one in tests:
                yield from questions_in(one)


@lru_cache(maxsize=256)  # each is read twice: for what the function asks at all, and where it asks
def read_test(node: ast.expr) -> Test | None:
    """The test, as far as it is pure."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = read_test(operand)
            return None if inner is None else Not(inner)
        case ast.BoolOp(op=op, values=values):
            parts = tuple(read_test(value) for value in values)
            if not any(parts):
                return None
            whole = written(node) if all(parts) else ""
            return All(parts, whole) if isinstance(op, ast.And) else Some(parts, whole)
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.IsNot() as op], comparators=[right]):
            positive: ast.cmpop = ast.Eq() if isinstance(op, ast.NotEq) else ast.Is()
            atom = _atom(ast.Compare(left, [positive], [right]))
            return None if atom is None else Not(atom)
    return _atom(node)


def _atom(node: ast.expr) -> Atom | None:
    path = path_of(node)
    if path is not None and "[" not in path:
        return Atom(path)  # most tests: a flag
    impure = [] if _is_plain(node) else [inner for inner in below(node) if inner.__class__ in _IMPURE]
    if isinstance(node, ast.Constant) or (impure and not _are_settings(node, impure)):
        return None
    return Atom(path or written(node))


def _is_plain(node: ast.expr) -> bool:
    """phase == "train", self.scaler is None"""
    return isinstance(node, ast.Compare) and all(
        isinstance(one, ast.Constant | ast.Name) or (isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name))
        for one in (node.left, *node.comparators)
    )


def _are_settings(node: ast.expr, impure: Iterable[ast.AST]) -> bool:
    """`config().mode == "train"`: what is called has settings, and they are the same at every call."""
    for one in impure:
        if not isinstance(one, ast.Call) or not isinstance(one.func, ast.Name) or one.args or one.keywords:
            return False
    owners = {id(inner.value) for inner in below(node) if isinstance(inner, ast.Attribute)}
    return all(id(one) in owners for one in impure)


def places(assumed: Assumptions) -> Assumptions:
    """Of what is assumed, the places in windows."""
    return frozenset(known for known in assumed if is_place(known[0]))


def is_place(key: str) -> bool:
    return "@" in key


def touched(path: str, keys: Keys) -> list[str]:
    """The keys whose answer may change when `path` is assigned."""
    asked = keys.get(path.partition(".")[0].partition("[")[0], ())
    return [key for key in asked if path in key and mentions(key, path)]


@lru_cache(maxsize=4096)  # asked for every fact that comes to a call
def mentions(key: str, path: str) -> bool:
    start = key.find(path)
    while start >= 0:
        before, after = key[start - 1 : start], key[start + len(path) : start + len(path) + 1]
        if not (before.isalnum() or before in ("_", ".")) and not (after.isalnum() or after == "_"):
            return True
        start = key.find(path, start + 1)
    return False


def changed_by(node: ast.AST, keys: Keys) -> frozenset[str]:
    """Of the questions that are asked again, those whose answer an assignment may change."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        targets = [node.target]
    else:
        return frozenset()
    if len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id not in keys:
        return frozenset()  # most: no test asks for it
    return frozenset([key for target in targets for path in _assigned(target) for key in touched(path, keys)])


def _assigned(target: ast.expr) -> list[str]:
    """The paths that an assignment changes: `cfg.step = 1` changes nothing else of cfg."""
    if isinstance(target, ast.Tuple | ast.List):
        return [path for element in target.elts for path in _assigned(element)]
    if isinstance(target, ast.Starred | ast.Subscript):
        return _assigned(target.value)
    path = path_of(target)
    return [] if path is None else [path]
