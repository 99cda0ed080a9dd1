"""What the user calls things: a parameter by its name in the module that holds it, an optimizer as the step does.

Looked up when something is told about them.
"""

import ast
import functools
import gc
import linecache
from collections.abc import Sequence
from itertools import islice
from types import FrameType

from torch import Tensor, nn

_FIRST = 3


def named(parameters: Sequence[Tensor]) -> str:
    """How many, and what the first few are called: "4 parameters (0.weight, 0.bias, 2.weight, ...)"."""
    count = f"{len(parameters)} parameter{'s' * (len(parameters) != 1)}"
    known = names(parameters[:_FIRST])
    return f"{count} ({', '.join(known)}{', ...' * (len(parameters) > _FIRST)})" if known else count


def names(parameters: Sequence[Tensor]) -> list[str]:
    """Each by the longest name that a living module has for it; one that nobody holds by its shape."""
    try:
        roots = [one for one in gc.get_objects() if issubclass(type(one), nn.Module)]
    except Exception:
        roots = []
    wanted = {id(parameter): "" for parameter in parameters}
    for module in roots:
        try:
            for name, parameter in module.named_parameters():
                if id(parameter) in wanted and len(name) > len(wanted[id(parameter)]):
                    wanted[id(parameter)] = name  # the longest path is the outermost module's
        except Exception:  # a module half built, or one that answers in its own way
            continue
    return [wanted[id(one)] or f"of shape {tuple(one.shape)}" for one in parameters]


def called(frame: FrameType | None, method: str, *, by_scaler: bool) -> str:
    """The optimizer as this frame writes it: `opt_d` of `opt_d.step()`, or of `scaler.step(opt_d)`. "" if it does not.

    The text is read and not the frame's variables: before Python 3.13 to ask for those is to write into them.
    """
    return _of_call(_running(frame), method, by_scaler=by_scaler) if method else ""


@functools.lru_cache(maxsize=256)  # some programs make an optimizer for every task, on one line
def _of_call(text: str, method: str, *, by_scaler: bool) -> str:
    try:
        call = ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != method:
        return ""
    if not by_scaler:
        return ast.unparse(call.func.value)
    given = [*call.args, *(one.value for one in call.keywords if one.arg == "optimizer")]
    return ast.unparse(given[0]) if given else ""


def _running(frame: FrameType | None) -> str:
    """The expression that a frame is working out now."""
    if frame is None:
        return ""
    first, last, start, end = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(frame.f_code.co_filename, frame.f_globals)[first - 1 : last]]
    if not lines:
        return ""
    lines[-1] = lines[-1][:end]  # columns count bytes
    lines[0] = lines[0][start:]
    return b"".join(lines).decode("utf-8", "replace")
