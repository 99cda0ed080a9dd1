"""From a text to a syntax tree, or to one clear sentence about why there is none."""

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from zerograd.errors import SourceError
from zerograd.source.text.lines import lines_of, starts_of
from zerograd.source.text.nodes import held_by
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.python2 import read_python2

_LARGEST = 500_000  # characters of a file, and
_LONGEST = 100_000  # of a line: beyond that Python itself takes a second to parse, and nobody wrote it by hand
# A word first: that is what makes a search fast. `params = ...` at the beginning of a line is a variable.
_NAMED = pattern(r"param(?:(?<=[(, ]param)(?:s|eters)=|(?:(?<=\(param)|(?<=, param))(?:s|eters) =)")
_KEYWORD = pattern(r"param(?:s|eters)\s*[=#\\]")  # wherever one may stand
_FIRST = frozenset({"params", "parameters"})  # what optimizers and clips call their first argument
_TAKES = pattern(r"(Ada|SGD|RMS|LBFGS|Rprop|Lion|LAMB|Lamb|Ranger|Optim)\w*$|^clip_grad_")  # others have other firsts


@lru_cache(maxsize=2)
def tree_of(text: str, path: str) -> ast.Module:
    """As ast.parse(), with first arguments in the first place. A text that is mended is parsed by several, one after
    the other; nobody changes its tree."""
    tree = ast.parse(text, path)
    if _NAMED.search(text):
        _put_first(tree, text)
    return tree


def _put_first(tree: ast.Module, text: str) -> None:
    """Adam(lr=0.1, params=model.parameters()) as Adam(model.parameters(), lr=0.1): whoever asks what an optimizer was
    given need not ask twice."""
    starts = starts_of(text)
    for call in _calls_around(tree, [bisect_right(starts, word.start()) for word in _KEYWORD.finditer(text)]):
        if call.args:
            continue
        name = (path_of(call.func) or "").rpartition(".")[2]
        named = [keyword for keyword in call.keywords if keyword.arg in _FIRST]
        if len(named) == 1 and _TAKES.search(name):
            call.args.append(named[0].value)
            call.keywords.remove(named[0])


def _calls_around(tree: ast.Module, lines: list[int]) -> Iterator[ast.Call]:
    """The calls of all statements that one of these lines belongs to: most have none, and are not looked into."""
    pending: list[Any] = [tree]
    for node in pending:  # it grows on the way
        if isinstance(node, ast.stmt) and not _has_any(node, lines):
            pending += getattr(node, "decorator_list", ())  # they stand before it
            continue
        if isinstance(node, ast.Call):
            yield node
        pending += held_by(node)


def _has_any(node: ast.stmt, lines: list[int]) -> bool:
    return bisect_left(lines, node.lineno) < bisect_right(lines, node.end_lineno or node.lineno)


def parse(text: str, path: str) -> ast.Module:
    if len(text) > _LARGEST:
        raise SourceError(
            f"{path}: is too large to be read: {len(text):,} characters, the limit is {_LARGEST:,}", slug="too-large"
        )
    if len(text) > _LONGEST and (longest := max(map(len, lines_of(text)))) > _LONGEST:
        raise SourceError(
            f"{path}: has a line too long to be read: {longest:,} characters, the limit is {_LONGEST:,}",
            slug="too-large",
        )
    try:
        return tree_of(text, path)
    except SyntaxError as error:
        old = read_python2(text)
        if old is not None:
            return old
        raise SourceError(f"{path}:{error.lineno or 1}: not Python 3: {error.msg}", slug="not-python") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"{path}: cannot be parsed: {error}", slug="not-python") from None
