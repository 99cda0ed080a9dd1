"""Optimizers that come from elsewhere, and may be of a class in a file beside this one whose step() clears."""

import re

from zerograd.source.files.beside import classes_with
from zerograd.source.names.scopes import Scope
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File

_IS_OPTIMIZER = pattern(r"class \w*(Opt|Adam|SGD)|class \w+\([^\n]*(Optim|optim\.|Adam|SGD|RMSprop)")
_CLEARS = pattern(r"\.zero_grad\(|\.grad = None|\.grad\.zero_\(")
_NEXT = pattern(r"^ {4}\S", re.MULTILINE)


def may_be_tidy(path: str, scope: Scope | None, file: File) -> bool:
    """Whether an optimizer that nobody makes here may be one of those: who hands it in knows."""
    if scope is None or scope.lookup(path) is not None:
        return False
    bodies = (body for text in file.beside or () for body in classes_with("def step(", text))
    return any(_IS_OPTIMIZER.match(body) and _CLEARS.search(_step_of(body)) for body in bodies)


def _step_of(body: str) -> str:
    text = body.partition("def step(")[2]
    end = _NEXT.search(text)
    return text[: end.start()] if end is not None else text
