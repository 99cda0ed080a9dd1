"""Which functions of a file have to do with gradients: those that name a trigger, and those that call them.

A look at the words of the text, which is much faster than one at the tree: a word in a comment makes a function
relevant that is not, and costs nothing but the time to read it. Everything else is never lowered.
"""

import ast
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from zerograd.source.names.scopes import Function
from zerograd.source.text.lines import starts_of
from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_TRIGGER = pattern(r"\.(?:(step|zero_grad)|backward|manual_backward|unscale_|grad|clip_gradients)\b")
_TRIGGERS = ("clip_grad_norm", "clip_grad_value", "scaler")
# What is stepped or cleared, as it is written: self.opt, opts[0], states["opt"].
_WRITTEN = pattern(r"[A-Za-z_][\w.]*(?:\[[^\[\]\n]*\])*$")
_GIVEN = pattern(r"\(\s*([A-Za-z_][\w.]*(?:\[[^\[\]\n]*\])*)\s*[,)]")  # scaler.step(opt)
_HANDED = pattern(r"[(,]\s*(?:\w+=)?\w*optim\w*\s*[,)]")  # train(model, optimizer)
_LONGEST = 80
_WORD = pattern(r"\w+")
_MANY = 50  # names that are searched for one by one


class Relevance(NamedTuple):
    functions: frozenset[ast.AST]  # and the module, if its own statements do something to a gradient
    has_several: bool  # several paths are stepped
    by_manner: frozenset[str]  # paths that are both stepped and cleared: whatever they are called, they are optimizers


def read_relevance(tree: ast.Module, text: str, functions: Sequence[Function]) -> Relevance:
    words = _Words(tree, text, functions)
    named: dict[str, set[str]] = {"step": set(), "zero_grad": set(), "scaler.step": set()}
    users = {user for trigger in _TRIGGERS for user in words.users(trigger)}
    for match in _TRIGGER.finditer(text):
        users.add(words.owner(match.start()))
        if match[1] and text.startswith("(", match.end()):
            begin = text.rfind("\n", 0, match.start()) + 1
            before = _WRITTEN.search(text, max(begin, match.start() - _LONGEST), match.start())
            if before is not None:
                named[match[1]].add(_canonical(before[0]))
            given = _GIVEN.match(text, match.end()) if before is not None and "scaler" in before[0] else None
            if given is not None:
                named["scaler.step"].add(_canonical(given[1]))
    if not users:  # whoever has the events is handed the optimizer
        users = {words.owner(match.start()) for match in _HANDED.finditer(text)}
    stepped = {path for path in named["step"] if "sched" not in path and "scaler" not in path}
    return Relevance(
        _closure(words, users), len(stepped | named["scaler.step"]) > 1, frozenset(named["step"] & named["zero_grad"])
    )


def hands_on(function: Function, nodes_of: Callable[[ast.AST], Nodes]) -> bool:
    """Whether a function that names no event passes an optimizer or a scaler on to one that may, or itself."""
    parameters = function.scope.parameters
    handed = {name for name in parameters if "opt" in name.lower() or "scaler" in name.lower()}
    itself = parameters[:1] == ("self",)  # hook.before(self)
    return (bool(handed) or itself) and any(
        isinstance(argument, ast.Name)
        and (argument.id in handed or (itself and argument.id == "self" and not isinstance(node.func, ast.Name)))
        for node in nodes_of(function.node).of(ast.Call)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def _canonical(written: str) -> str:
    if "[" not in written:
        return written
    try:
        return path_of(ast.parse(written, mode="eval").body) or ""
    except (SyntaxError, ValueError):
        return ""


class _Words:
    """Where words stand: in which function of the file."""

    def __init__(self, tree: ast.Module, text: str, functions: Sequence[Function]) -> None:
        self._text = text
        self._starts = starts_of(text)
        self._owners: list[ast.AST] = [tree] * (len(self._starts) + 2)
        for node, _ in functions:  # outer before inner: the innermost is written last
            end = node.end_lineno or node.lineno
            self._owners[node.lineno : end + 1] = [node] * (end + 1 - node.lineno)

    def users(self, word: str, *, whole: bool = False) -> Iterator[ast.AST]:
        """Who writes a word, if only as a part of another, unless `whole`."""
        start = self._text.find(word)
        while start >= 0:
            end = start + len(word)
            if not whole or not (_is_part(self._text[start - 1 : start]) or _is_part(self._text[end : end + 1])):
                yield self.owner(start)
            start = self._text.find(word, end)

    def callers(self, names: Collection[str]) -> Iterator[ast.AST]:
        """Who names one of these. A search for each is much faster than one expression for a few of them."""
        if len(names) > _MANY:
            yield from (self.owner(word.start()) for word in _WORD.finditer(self._text) if word[0] in names)
        else:
            yield from (user for name in names for user in self.users(name, whole=True))

    def owner(self, place: int) -> ast.AST:
        return self._owners[bisect_right(self._starts, place)]


def _is_part(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _closure(words: _Words, users: set[ast.AST]) -> frozenset[ast.AST]:
    relevant = set(users)
    new: Iterable[ast.AST] = relevant
    while True:  # who names a relevant function is relevant
        names = {node.name for node in new if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        names.discard("__init__")  # nobody calls it by that name but a subclass
        new = set(words.callers(names)) - relevant
        if not new:
            return frozenset(relevant)
        relevant |= new
