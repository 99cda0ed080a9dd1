"""From a text to a syntax tree, or to one clear sentence about why there is none."""

import ast

from zerograd.errors import SourceError
from zerograd.source.python2 import read_python2


def parse(text: str, path: str) -> ast.Module:
    try:
        return ast.parse(text, path)
    except SyntaxError as error:
        old = read_python2(text)
        if old is not None:
            return old
        raise SourceError(f"{path}:{error.lineno or 1}: not Python 3: {error.msg}", slug="not-python") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"{path}: cannot be parsed: {error}", slug="not-python") from None
