"""How a function of torch's is replaced by one around it, and put back.

[Note: tracing] torch.compile traces through patches and hooks. Steps and an optimizer's clears break its graph anyway
(torch 2.13 optim/optimizer.py:79 and its _disable_dynamo), so there we ask to be run as we are; everywhere else we keep
out, because a graph that we break is an error under fullgraph=True.

[Note: warnings] torch warns its caller: `warnings.warn(..., stacklevel=2)`. What stands around a function of torch's
must not be taken for the caller, or the user's filters meet another module than without us. Frames of the import system
are not counted (Python 3.11 Lib/warnings.py _is_internal_frame: its files have "importlib" and "_bootstrap" in their
names), so what stands around is compiled under such a name.
What C++ warns of is laid to the frame that runs, whichever that is: what we put in front of the engine stands where
torch itself would stand (see `in_place_of`).
"""

import contextlib
import dis
import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import torch
from torch._compile import _disable_dynamo

P = ParamSpec("P")
R = TypeVar("R")
_UNCOUNTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "importlib._bootstrap")


def uncounted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; whoever warns the caller of what it calls passes it by. See [Note: warnings]."""
    if isinstance(function, FunctionType):
        function.__code__ = function.__code__.replace(co_filename=_UNCOUNTED)
    return function


def in_place_of(caller: Callable[..., Any], name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Of a method that calls `name` on one line: the same, as if it stood on the line on which `caller` does.

    See [Note: warnings].
    """

    def moved(function: Callable[P, R]) -> Callable[P, R]:
        there, here = _line_of(name, caller), _line_of(name, function)
        if there is None or here is None or not isinstance(function, FunctionType):
            return function  # a torch that is built otherwise
        first = function.__code__.co_firstlineno + there - here
        code = function.__code__.replace(co_filename=caller.__code__.co_filename, co_firstlineno=first)
        return FunctionType(code, caller.__globals__, function.__name__, function.__defaults__, function.__closure__)

    return moved


def _line_of(name: str, function: Callable[..., Any]) -> int | None:
    """The first line on which this function looks up a method of this name."""
    if not isinstance(function, FunctionType):
        return None
    places = (one.positions for one in dis.get_instructions(function) if one.argval == name)
    return next((place.lineno for place in places if place is not None), None)


def untraced(function: Callable[P, R]) -> Callable[P, R]:
    """The same, and when torch.compile meets it, run as it is. See [Note: tracing]."""
    # Not torch.compiler.disable: it imports torch._dynamo at once, which takes seconds in every child process.
    traced = _disable_dynamo(uncounted(function))

    def either(*args: P.args, **kwargs: P.kwargs) -> R:
        return (traced if torch.compiler.is_compiling() else function)(*args, **kwargs)

    return either


def patch(
    owner: object, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]], undo: contextlib.ExitStack
) -> None:
    real = getattr(owner, name)
    setattr(owner, name, functools.update_wrapper(uncounted(around(real)), real))
    undo.callback(setattr, owner, name, real)


def patch_cell(
    wrapper: Callable[..., Any], around: Callable[[Callable[..., Any]], Callable[..., Any]], undo: contextlib.ExitStack
) -> None:
    """Patch what a decorated function runs. Where it is built otherwise, it stays as it is."""
    cells = [cell for cell in getattr(wrapper, "__closure__", None) or () if callable(cell.cell_contents)]
    if len(cells) == 1:
        (cell,) = cells
        real = cell.cell_contents
        cell.cell_contents = functools.update_wrapper(uncounted(around(real)), real)
        undo.callback(setattr, cell, "cell_contents", real)
