"""Modules that are made by themselves, of nothing that another one may have as a part too."""

import ast

from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS, MODULES, SAME

_ASKED = MODULES | SAME | CUTS | {"forward"}


def gives(node: ast.Assign, module: str) -> bool:
    """other = Sequential(module, ...), other.weight = module.weight: anything but its parameters, and its own calls."""
    nodes = below(node.value)
    asked = {id(part.value) for part in nodes if isinstance(part, ast.Attribute) and part.attr in _ASKED}
    called = [part.func for part in nodes if isinstance(part, ast.Call)]
    asked |= {id(func) for func in called} | {id(func.value) for func in called if isinstance(func, ast.Attribute)}
    return any(path_of(part) == module and id(part) not in asked for part in nodes if isinstance(part, ast.expr))


def overlap(one: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a module of the one is a module of the others, or a part of one."""
    return any(
        mine == its or mine.startswith(f"{its}.") or its.startswith(f"{mine}.") for mine in one for its in others
    )
