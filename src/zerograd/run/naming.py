"""What the user calls a parameter: its name in the module that holds it. Looked up when something is told about it."""

import gc
from collections.abc import Sequence

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
