"""Whether what is called is a module: something that holds parameters, and is no function of the project's."""

import ast
from collections.abc import Iterator

from zerograd.source.names.defining import Definitions
from zerograd.source.names.opaque import makes_something
from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.paths import path_of

_MOVED = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "apply", "requires_grad_"})


def is_network(path: str, scope: Scope, made: Definitions) -> bool:
    """By what it is bound to, or because an optimizer was made over its parameters; of a parameter or an attribute it
    is enough that no function of ours has its name."""
    binding = scope.lookup(path)
    if binding is not None:
        return binding.role.name in ("TORCH", "INSTANCE")
    if scope.function(path) is not None:
        return False
    if any(path in held for held in _held(path, scope)):
        return True
    values = [one.value for one in made.of(path)]
    if values:
        return all(map(_makes_module, values))
    return path in scope.parameters or (path.startswith("self.") and path.count(".") == 1)


def _held(path: str, scope: Scope) -> Iterator[tuple[str, ...]]:
    """The modules of each optimizer that a function can see, as far out as the path means the same."""
    of_self = path.startswith("self.")
    root = path.partition(".")[0].partition("[")[0]
    if of_self and scope.owner is not None:
        scopes = [*scope.owner.lineage()]
    else:
        scopes = [scope]
        while scopes[-1].parent is not None and not scopes[-1].owns(root):
            scopes.append(scopes[-1].parent)
    for one in scopes:
        yield from (binding.over for binding in one.bindings.values() if binding.role is Role.OPTIMIZER)


def _makes_module(value: ast.expr) -> bool:
    """Whether a value is made by a call that is named as classes are, and moved about: Net(3).to(device)."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVED:
        value = value.func.value
    path = path_of(value.func) if isinstance(value, ast.Call) else None
    return path is not None and makes_something(path)
