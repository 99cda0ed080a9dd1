"""Which functions of this project a call may run: a function, a method of `self`, or that of an object it keeps."""

import ast
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.lowering.skeleton import Call
from zerograd.source.names.arguments import positional
from zerograd.source.names.scopes import Binding, Function, Role, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of

_DEPTH = 3  # functions that make an optimizer through one another


class Callee(NamedTuple):
    """One of them; of a method also the object it is called on, the class of that, and what it was made with."""

    function: Function
    receiver: str | None = None
    cls: Scope | None = None
    made: Binding | None = None

    def called(self, call: ast.Call, scope: Scope, site: Site | None = None) -> Call:
        """The call in the text as one of this function."""
        function, receiver = self.function, self.receiver
        callee = function.scope
        given = [scope.slot(argument) for argument in call.args]
        if receiver is not None:
            given.insert(0, receiver)
        pairs = list(zip(positional(function), given, strict=False))
        pairs += [(keyword.arg, scope.slot(keyword.value)) for keyword in call.keywords if keyword.arg]
        pairs += self.made.keeps if self.made is not None else ()
        copied = _copied_in(function)
        arguments = tuple((parameter, path) for parameter, path in pairs if path and parameter not in copied)
        shares_self = receiver == "self" or callee.owner is scope.owner is not None
        return Call(function, scope, arguments, shares_self, self.cls, site)


def callees_of(path: str, scope: Scope) -> list[Callee]:
    """What a call of `path` may run; several where the arms of a branch bind its receiver to several objects."""
    return functions_of(path, scope) or methods_of(path, scope)


def functions_of(path: str, scope: Scope) -> list[Callee]:
    """What it runs by its own name."""
    found = scope.function(path)
    if found is None:
        return []
    return [Callee(found, "self", scope.owner) if path.rpartition(".")[0] == "self" else Callee(found)]


def methods_of(path: str, scope: Scope) -> list[Callee]:
    """What it runs of the object that it is called on."""
    receiver, name = _called_on(path, scope)
    binding = scope.lookup(receiver) or _made_inside(receiver, scope)
    callees: list[Callee] = []
    for made in (binding, *binding.beside) if binding is not None and binding.role is Role.INSTANCE else ():
        function = _method(made.cls, name) if made.cls is not None else None
        if function is not None:
            callees.append(Callee(function, receiver, made.cls, made))
    return callees


def _made_inside(path: str, scope: Scope, depth: int = _DEPTH) -> Binding | None:
    """What make_optimizer(model) returns, of a function that defines a class of its own and returns an object of it,
    itself or through another such function."""
    named = maker_of(path, scope) if depth else None
    maker = scope.function(named) if named is not None else None
    last = maker.node.body[-1] if maker is not None else None
    if maker is None or not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
        return None
    made = maker.scope.lookup(last.value.id)
    if made is None:
        return _made_inside(last.value.id, maker.scope, depth - 1)
    cls = made.cls if made.role is Role.INSTANCE else None
    inside = cls is not None and cls.parent is not None and cls.parent.parent is not None
    return Binding(Role.INSTANCE, cls=cls) if inside else None


def maker_of(path: str, scope: Scope) -> str | None:
    """The function whose result a path is bound to, where that is known."""
    if path.startswith("self."):
        homes = scope.owner.lineage() if scope.owner is not None else ()
        return next((home.makers[path] for home in homes if path in home.makers), None)
    home: Scope | None = scope
    while home is not None and path not in home.makers and not home.owns(path):
        home = home.parent
    if home is None or path in home.parameters:
        return None
    home.settle()
    return home.makers.get(path)


def _called_on(path: str, scope: Scope) -> tuple[str, str]:
    """The object that a call is made on, and the method: `self.attack(x)` calls what is kept there itself."""
    receiver, _, name = path.rpartition(".")
    itself = scope.lookup(path)
    return (receiver, name) if receiver and (itself is None or itself.role is not Role.INSTANCE) else (path, "__call__")


def _method(cls: Scope, name: str) -> Function | None:
    """What a call of an object runs, which for torch's modules is `forward`."""
    return cls.method(name) or (cls.method("forward") if name == "__call__" else None)


def _copied_in(function: Function) -> frozenset[str]:
    """The parameters that a function copies, under the same name: what it does to the copy, its caller never sees."""
    home = function.scope.module.home
    if home is None or not home.copies:
        return frozenset()
    found, body = set[str](), function.node.body
    for place, node in enumerate(body):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        match node.targets, node.value.args:
            case [ast.Name(id=name)], [ast.Name(id=given), *_] if given == name:
                if (path_of(node.value.func) or "").rpartition(".")[2] == "deepcopy":
                    used = (part for before in body[:place] for part in below(before))
                    if not any(isinstance(part, ast.Name) and part.id == name for part in used):
                        found.add(name)
    return frozenset(found)
