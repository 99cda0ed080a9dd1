"""From a text to a syntax tree, or to one clear sentence about why there is none."""

import ast
import re
from functools import lru_cache

from zerograd.errors import SourceError
from zerograd.source.text.lines import lines_of
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.python2 import read_python2

_LARGEST = 500_000  # characters of a file, and
_LONGEST = 100_000  # of a line: beyond that Python itself takes a second to parse, and nobody wrote it by hand
# A word first: that is what makes a search fast. `params = ...` at the beginning of a line is a variable.
_NAMED = re.compile(r"param(?:(?<=[(, ]param)(?:s|eters)=|(?:(?<=\(param)|(?<=, param))(?:s|eters) =)")
_FIRST = frozenset({"params", "parameters"})  # what optimizers and clips call their first argument
_TAKES = re.compile(
    r"(Ada|SGD|RMS|LBFGS|Rprop|Lion|LAMB|Lamb|Ranger|Optim)\w*$|^clip_grad_"
)  # others have other firsts


@lru_cache(maxsize=2)
def tree_of(text: str, path: str) -> ast.Module:
    """As ast.parse(), with first arguments in the first place. A text that is mended is parsed by several, one after
    the other; nobody changes its tree."""
    tree = ast.parse(text, path)
    if _NAMED.search(text):
        _put_first(tree)
    return tree


def _put_first(tree: ast.Module) -> None:
    """Adam(lr=0.1, params=model.parameters()) as Adam(model.parameters(), lr=0.1): whoever asks what an optimizer was
    given need not ask twice."""
    for call in below(tree):
        if not isinstance(call, ast.Call) or call.args:
            continue
        name = (path_of(call.func) or "").rpartition(".")[2]
        named = [keyword for keyword in call.keywords if keyword.arg in _FIRST]
        if len(named) == 1 and _TAKES.search(name):
            call.args.append(named[0].value)
            call.keywords.remove(named[0])


def parse(text: str, path: str) -> ast.Module:
    if len(text) > _LARGEST:
        raise SourceError(f"{path}: is too large to be read: {len(text)} characters", slug="too-large")
    if len(text) > _LONGEST and (longest := max(map(len, lines_of(text)))) > _LONGEST:
        raise SourceError(f"{path}: has a line too long to be read: {longest} characters", slug="too-large")
    try:
        return tree_of(text, path)
    except SyntaxError as error:
        old = read_python2(text)
        if old is not None:
            return old
        raise SourceError(f"{path}:{error.lineno or 1}: not Python 3: {error.msg}", slug="not-python") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"{path}: cannot be parsed: {error}", slug="not-python") from None
