"""Names and where they are looked up.

A path is a name as it is written: `optimizer`, `self.opt`, `opts[0]`. Scopes nest as in Python; `self.` paths belong
to the class. A path may stand for several things in one scope: what it is bound to last in the text counts.
"""

import ast
from enum import Enum
from typing import NamedTuple

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Role(Enum):
    """What a path is bound to, as far as the text shows it."""

    OPTIMIZER = "optimizer"
    SCHEDULER = "scheduler"
    SCALER = "scaler"
    SCALED_LOSS = "scaled loss"  # scaler.scale(loss), kept in a variable
    TORCH = "torch"  # made by torch itself: a module, a tensor, a dataset. Calling it deposits nothing
    INSTANCE = "instance"  # made by a class of this file


class Binding(NamedTuple):
    role: Role
    made_by: str = ""  # the dotted name that was called
    over: str | None = None  # of a scheduler: its optimizer's path; of an optimizer: its model's


def path_of(node: ast.AST) -> str | None:
    """The path an expression names, or None if it is not a plain name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            base = path_of(value)
            return None if base is None else f"{base}.{attr}"
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            base = path_of(value)
            return None if base is None else f"{base}[{key!r}]"
        case ast.Subscript(value=value):
            base = path_of(value)
            return None if base is None else f"{base}[*]"
    return None


class Scope:
    """The bindings of one function, class or module; an unknown path is looked up outside."""

    def __init__(self, parent: "Scope | None" = None, *, owner: "Scope | None" = None) -> None:
        self.parent = parent
        self.owner = owner  # the class whose `self` this method has
        self.imports: dict[str, str] = {}
        self.bindings: dict[str, Binding] = {}
        self.functions: dict[str, FunctionNode] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.bases: tuple[str, ...] = ()  # of a class: the dotted names it derives from
        self.assigned: set[str] = set()  # every path that is assigned, whatever to
        self.elements: dict[str, str] = {}  # loop variables of the loops we are in: opt -> opts[*]
        self.parameters: tuple[str, ...] = ()  # of a function
        self.class_scopes: dict[str, Scope] = {}

    def slot(self, node: ast.AST) -> str | None:
        """The path an expression names, with a loop variable told by what it runs over."""
        path = path_of(node)
        return None if path is None else self.elements.get(path, path)

    def optimizer_of(self, model: str | None) -> str | None:
        """The one optimizer that was made over this model's parameters."""
        scopes = [scope for scope in (self, self.owner, self.parent) if scope is not None]
        found = {
            path
            for scope in scopes
            for path, binding in scope.bindings.items()
            if binding.role is Role.OPTIMIZER and binding.over == model
        }
        return found.pop() if model is not None and len(found) == 1 else None

    def lookup(self, path: str) -> Binding | None:
        if path.startswith("self.") and self.owner is not None:
            return self.owner.bindings.get(path)
        found = self.bindings.get(path)
        return found if found is not None or self.parent is None else self.parent.lookup(path)

    def owns(self, name: str) -> bool:
        """Whether `name` is a local of this function."""
        return self.parent is not None and (name in self.parameters or name in self.assigned)

    def is_inside(self, other: "Scope") -> bool:
        return self.parent is not None and (self.parent is other or self.parent.is_inside(other))

    def function(self, path: str) -> FunctionNode | None:
        """The function of this file that a call of `path` runs."""
        if path.startswith("self.") and self.owner is not None:
            return self.owner.method(path[5:])
        found = self.functions.get(path)
        if found is not None or self.parent is not None:
            return found or (self.parent.function(path) if self.parent else None)
        return None

    def method(self, name: str, seen: frozenset[str] = frozenset()) -> FunctionNode | None:
        """Of a class: its own method, or that of a base class of this file."""
        found = self.functions.get(name)
        for base in self.bases if found is None else ():
            cls = self.class_scope(base)
            if cls is not None and base not in seen:
                found = found or cls.method(name, seen | {base})
        return found

    def class_scope(self, name: str) -> "Scope | None":
        found = self.class_scopes.get(name)
        return found if found is not None or self.parent is None else self.parent.class_scope(name)

    def classdef(self, name: str) -> ast.ClassDef | None:
        found = self.classes.get(name)
        return found if found is not None or self.parent is None else self.parent.classdef(name)

    def dotted(self, path: str) -> str:
        """`path` with its first name replaced by what it was imported as: `nn.Linear` -> `torch.nn.Linear`."""
        head, dot, rest = path.partition(".")
        scope: Scope | None = self
        while scope is not None:
            if head in scope.imports:
                return scope.imports[head] + dot + rest
            scope = scope.parent
        return path
