"""Who keeps a loss with its graph: the name in the program that holds it, and the line that puts it there.

Looked for when a loss is known to outlive its step: among the tensors that the running functions have names for, in
their own objects, and one level into lists and dicts. `total += loss`, `losses.append(loss)`, `log["loss"] += loss`.
"""

import ast
import functools
import linecache
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from torch import Tensor

from zerograd.core.events import Site
from zerograd.run.settings import entries, holders
from zerograd.run.sites import names_in, shown, theirs

_NEAR = 24  # nodes that are searched behind a sum
_MANY = 256  # items of a list or a dict that are looked at, from its end
_PUTS = ("append", "extend", "insert", "add", "update", "put", "setdefault")


def line_that_keeps(frame: FrameType | None, marked: Callable[[Any], bool]) -> Site | None:
    """The line that adds up or collects a loss whose last node is `marked`. None if nobody is found."""
    while frame is not None:
        if theirs(frame.f_code.co_filename):
            for name in _names_of_keepers(frame, marked):
                line = _line_that_writes(frame.f_code.co_filename, name, frame.f_code.co_firstlineno)
                if line is not None:
                    return Site(shown(frame.f_code.co_filename), line)
        frame = frame.f_back
    return None


def _names_of_keepers(frame: FrameType, marked: Callable[[Any], bool]) -> Iterator[str]:
    named = names_in(frame, lambda value: isinstance(value, Tensor | list | dict | tuple))
    held = {f"{owner}.{key}": one for owner, value in holders(frame).items() for key, one in entries(value).items()}
    for name, value in (named | held).items():
        if any(_keeps(tensor.grad_fn, marked) for tensor in _tensors(value)):
            yield name


def _tensors(value: object) -> list[Tensor]:
    inside = list(value.values()) if isinstance(value, dict) else value
    items = list(inside)[-_MANY:] if isinstance(inside, list | tuple) else [value]
    return [one for one in items if isinstance(one, Tensor) and one.grad_fn is not None]


def _keeps(node: Any, marked: Callable[[Any], bool]) -> bool:
    seen, waiting = 0, [node]
    while waiting and seen < _NEAR:
        one = waiting.pop(0)
        if marked(one):
            return True
        seen += 1
        waiting.extend(child for child, _ in one.next_functions if child is not None)
    return False


@functools.lru_cache(maxsize=64)
def _line_that_writes(filename: str, name: str, first: int) -> int | None:
    """Where a file adds to this name, or puts something into it; rather in the function that begins on line `first`."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return None
    lines = sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt) and _writes(node, name))
    return next((line for line in lines if line >= first), lines[0] if lines else None)


def _writes(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.AugAssign(target=target):
            return _is(target, name)
        case ast.Assign(targets=[target], value=value):
            return _is(target, name) and any(_is(one, name) for one in ast.walk(value) if isinstance(one, ast.expr))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=put))):
            return put in _PUTS and _is(owner, name)
    return False


def _is(node: ast.expr, name: str) -> bool:
    """Whether this is the name, or an item of what has it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == name
