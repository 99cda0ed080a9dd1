"""Who is called, handed and assigned what in a function, by name. Made once: a tangle has thousands."""

import ast
from functools import cached_property

from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Function
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading

_GROUPS = ("add_param_group", "param_groups", "__init__")


class Mentions:
    def __init__(self, function: Reading) -> None:
        self._function = function

    @cached_property
    def of(self) -> dict[str, list[ast.Call]]:
        """The calls of a name."""
        found: dict[str, list[ast.Call]] = {}
        for call in self._function.of(ast.Call):
            found.setdefault(path_of(call.func) or "", []).append(call)
        return found

    @cached_property
    def inside(self) -> list[tuple[Function, list[ast.Call]]]:
        """The functions of the project that are called at the top of a file, and where."""
        scope = self._function.scope
        called = [(scope.function(path), every) for path, every in self.of.items() if path and scope.parent is None]
        return [(function, every) for function, every in called if function is not None]

    @cached_property
    def making(self) -> list[ast.Call]:
        """The calls that make an optimizer."""
        return [call for call in self._function.of(ast.Call) if makes_optimizer(call, self._function.scope)]

    @cached_property
    def stored(self) -> dict[str, list[ast.AST]]:
        """Where a name is assigned, in whatever way."""
        names: list[ast.Name | ast.Attribute] = [*self._function.of(ast.Name), *self._function.of(ast.Attribute)]
        found: dict[str, list[ast.AST]] = {}
        for name in names:
            if isinstance(name.ctx, ast.Store):
                found.setdefault(path_of(name) or "", []).append(name)
        return found

    @cached_property
    def regrouped(self) -> set[str]:
        """The optimizers that are given other parameters, or looked into for those they have."""
        nodes = [node for node in self._function.of(ast.Attribute) if node.attr in _GROUPS]
        return {path for node in nodes if (path := path_of(node.value)) is not None}

    @cached_property
    def alike(self) -> dict[str, set[str]]:
        """Names that are given to one another: model = backbone."""
        found: dict[str, set[str]] = {}
        for node in self._function.of(ast.Assign):
            its = path_of(node.value)
            for name in filter(None, map(path_of, node.targets)) if its is not None else ():
                found.setdefault(name, set()).add(its or "")
                found.setdefault(its or "", set()).add(name)
        return found

    @cached_property
    def given(self) -> dict[str | None, list[ast.Call]]:
        """The calls that a name is handed to."""
        found: dict[str | None, list[ast.Call]] = {}
        for call in self._function.of(ast.Call):
            given = () if _saves(call) else (*call.args, *(keyword.value for keyword in call.keywords))
            for path in {path_of(one) for one in given}:
                found.setdefault(path, []).append(call)
        return found


def _saves(call: ast.Call) -> bool:
    return any(word in (path_of(call.func) or "").lower() for word in ("save", "load", "dump", "log"))
