"""Dictionaries of a file that hooks fill with what modules return, cut off: activation[name] = output.detach()."""

import ast
from functools import lru_cache

from zerograd.source.text.nodes import below, parents_of
from zerograd.source.values.reading import File, Reading


def is_captured(path: str, function: Reading) -> bool:
    """Whether a path is an item of such a dictionary, seen from a function that has nothing else of its name."""
    keeper, scope = path.partition("[")[0], function.scope
    file = function.file
    if not file.says("register_forward_hook") or not keeper.isidentifier() or not file.says(f"{keeper}["):
        return False
    return not (keeper in scope.parameters or scope.owns(keeper)) and keeper in _captures(file)


@lru_cache(maxsize=2)  # asked of every term of a loss
def _captures(file: File) -> frozenset[str]:
    """The names of which nothing is known but an empty dictionary, and items: whoever else has it may fill it too."""
    tree = file.program.tree
    parents = parents_of(tree)
    found, other = set[str](), set[str]()
    for name in below(tree):
        if isinstance(name, ast.Name):
            item = parents[name]
            around = parents.get(item)
            if isinstance(item, ast.Subscript) and item.value is name and isinstance(item.ctx, ast.Store):
                cut = isinstance(around, ast.Assign) and item in around.targets and _is_cut_off(around.value)
                (found if cut else other).add(name.id)
            elif isinstance(item, ast.Assign) and name in item.targets:
                other |= {name.id} if not _is_empty(item.value) else set()
            elif not (isinstance(item, ast.Subscript) and item.value is name):
                other.add(name.id)
    return frozenset(found - other)


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.Dict(keys=[]) | ast.Call(func=ast.Name(id="dict"), args=[], keywords=[]):
            return True
    return False


def _is_cut_off(value: ast.expr) -> bool:
    """output.detach(), output.detach().cpu()"""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)):
            return attr == "detach" or _is_cut_off(inner)
    return isinstance(value, ast.Attribute) and value.attr == "data"
