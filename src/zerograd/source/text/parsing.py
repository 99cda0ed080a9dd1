"""From a text to a syntax tree, or to one clear sentence about why there is none."""

import ast
from functools import lru_cache

from zerograd.errors import SourceError
from zerograd.source.text.lines import lines_of
from zerograd.source.text.python2 import read_python2

_LARGEST = 500_000  # characters of a file, and
_LONGEST = 100_000  # of a line: beyond that Python itself takes a second to parse, and nobody wrote it by hand


@lru_cache(maxsize=2)
def tree_of(text: str, path: str) -> ast.Module:
    """As ast.parse(). A text that is mended is parsed by several, one after the other; nobody changes its tree."""
    return ast.parse(text, path)


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
