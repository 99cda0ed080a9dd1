"""How a function of torch's is replaced by one around it, and put back.

[Note: tracing] torch.compile traces through patches and hooks. Steps and an optimizer's clears break its graph anyway
(torch 2.13 optim/optimizer.py:79 and its _disable_dynamo), so there we ask to be run as we are; everywhere else we keep
out, because a graph that we break is an error under fullgraph=True.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import torch
from torch._compile import _disable_dynamo

P = ParamSpec("P")


def untraced(function: Callable[P, None]) -> Callable[P, None]:
    """The same, and when torch.compile meets it, run as it is. See [Note: tracing]."""
    # Not torch.compiler.disable: it imports torch._dynamo at once, which takes seconds in every child process.
    traced = _disable_dynamo(function)

    def either(*args: P.args, **kwargs: P.kwargs) -> None:
        (traced if torch.compiler.is_compiling() else function)(*args, **kwargs)

    return either


def patch(
    owner: object, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]], undo: contextlib.ExitStack
) -> None:
    real = getattr(owner, name)
    setattr(owner, name, functools.update_wrapper(around(real), real))
    undo.callback(setattr, owner, name, real)


def patch_cell(
    wrapper: Callable[..., Any], around: Callable[[Callable[..., Any]], Callable[..., Any]], undo: contextlib.ExitStack
) -> None:
    """Patch what a decorated function runs. Where it is built otherwise, it stays as it is."""
    cells = [cell for cell in getattr(wrapper, "__closure__", None) or () if callable(cell.cell_contents)]
    if len(cells) == 1:
        (cell,) = cells
        real = cell.cell_contents
        cell.cell_contents = functools.update_wrapper(around(real), real)
        undo.callback(setattr, cell, "cell_contents", real)
