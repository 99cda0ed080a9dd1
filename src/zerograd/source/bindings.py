"""What the names of a file stand for: optimizers, scalers, torch's own functions, functions of this file.

A path is a name as it is written: `optimizer`, `self.opt`, `opts[0]`. Scopes nest as in Python; `self.` paths belong
to the class. A path may stand for several things in one scope: what it is bound to last in the text counts.
"""

import ast
from enum import Enum
from typing import NamedTuple

from zerograd.source.nodes import inner_statements

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

    @property
    def makes_optimizer(self) -> bool:
        """Whether an optimizer is bound here, over the parameters of one model."""
        homes = (self, self.owner) if self.owner is not None else (self,)
        return any(one.role is Role.OPTIMIZER and one.over for home in homes for one in home.bindings.values())

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

    def bind(self, target: ast.AST, value: ast.AST) -> None:
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            for one, its in zip(target.elts, value.elts, strict=False):
                self.bind(one, its)
            return
        path = path_of(target)
        if path is None:
            return
        home = self.owner if path.startswith("self.") and self.owner is not None else self
        binding = self.role_of(value)
        if binding is not None and binding.role is Role.SCALED_LOSS and path in home.assigned:
            binding = None  # scaled on one path, plain on another: nobody can say which
        home.assigned.add(path)
        if binding is not None:
            home.bindings[path] = binding

    def role_of(self, value: ast.AST) -> Binding | None:
        if isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
            path = path_of(value)
            return None if path is None else self.lookup(path)
        if not isinstance(value, ast.Call):
            return None
        path = path_of(value.func)
        if path is not None:
            if path.endswith(".scale") and "scaler" in path.lower():
                return Binding(Role.SCALED_LOSS)
            called = self.lookup(path)
            if called is not None and called.role is Role.TORCH:
                return called  # what a torch module returns is torch's too
            made = self._made_by(self.dotted(path))
            if made is not None and made.role is Role.SCHEDULER:
                given = [*value.args[:1], *(k.value for k in value.keywords if k.arg == "optimizer")]
                made = made._replace(over=self.slot(given[0]) if given else None)
            if made is not None and made.role is Role.OPTIMIZER:
                made = made._replace(over=_parameters_of(value.args[0]) if value.args else None)
            if made is not None:
                return made
        # nn.Linear(3, 4).to(device), model(x).mean(): a method of a torch object returns another.
        inner = self.role_of(value.func.value) if isinstance(value.func, ast.Attribute) else None
        return inner if inner is not None and inner.role in (Role.TORCH, Role.INSTANCE) else None

    def _made_by(self, dotted: str) -> Binding | None:
        last = dotted.rpartition(".")[2]
        if dotted.startswith("torch.optim.lr_scheduler.") or last.startswith(("get_scheduler", "get_linear_schedule")):
            # ReduceLROnPlateau is told a metric and moves when it likes: its place in the loop says nothing.
            return Binding(Role.TORCH if last == "ReduceLROnPlateau" else Role.SCHEDULER, dotted)
        if dotted.startswith("torch.optim."):
            return Binding(Role.OPTIMIZER, dotted)
        if last == "GradScaler":
            return Binding(Role.SCALER, dotted)
        if dotted.partition(".")[0] == "torch":
            return Binding(Role.TORCH, dotted)
        cls = self.classdef(dotted)
        if cls is not None:
            bases = (path_of(base) or "" for base in cls.bases)
            schedules = any(base.rpartition(".")[2] in ("_LRScheduler", "LRScheduler", "LambdaLR") for base in bases)
            return Binding(Role.SCHEDULER if schedules else Role.INSTANCE, dotted)
        return None


def _parameters_of(node: ast.expr) -> str | None:
    """`X` of `X.parameters()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="parameters")):
            return path_of(value)
    return None


def _names(target: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


class Roots(NamedTuple):
    """Everything in a file that can be entered: the module's own body, and each function with its scope."""

    module: Scope
    functions: list[tuple[FunctionNode, Scope]]


def bind_module(tree: ast.Module) -> Roots:
    binder = _Binder()
    binder.walk(tree)
    return Roots(binder.scope, binder.functions)


class _Binder:
    """One pass over a file that fills in its scopes."""

    def __init__(self) -> None:
        self.scope = Scope()
        self.cls: Scope | None = None  # set while directly in a class body
        self.functions: list[tuple[FunctionNode, Scope]] = []

    def walk(self, node: ast.AST) -> None:
        for child in inner_statements(node):
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(child)
                case ast.ClassDef():
                    self._class(child)
                case _:
                    self._statement(child)
                    self.walk(child)

    def _statement(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    self.scope.imports[alias.asname or root] = alias.name if alias.asname else root
            case ast.ImportFrom(module=str() as source, names=names, level=0):
                for alias in names:
                    self.scope.imports[alias.asname or alias.name] = f"{source}.{alias.name}"
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.scope.bind(target, value)
            case ast.AnnAssign(target=target, value=ast.AST() as value):
                self.scope.bind(target, value)
            case ast.For(target=target) | ast.AsyncFor(target=target):
                self.scope.assigned |= set(_names(target))
            case ast.withitem(optional_vars=ast.AST() as target):
                self.scope.assigned |= set(_names(target))

    def _function(self, node: FunctionNode) -> None:
        (self.cls or self.scope).functions[node.name] = node
        outer, cls = self.scope, self.cls
        # A method sees the names outside its class, and the class only through self.
        self.scope, self.cls = Scope(outer, owner=cls or outer.owner), None
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        self.scope.parameters = tuple(argument.arg for argument in every if argument is not None)
        self.functions.append((node, self.scope))
        self.walk(node)
        self.scope, self.cls = outer, cls

    def _class(self, node: ast.ClassDef) -> None:
        self.scope.classes[node.name] = node
        outer, self.cls = self.cls, Scope(self.scope)
        self.scope.class_scopes[node.name] = self.cls
        self.cls.bases = tuple(self.scope.dotted(path_of(base) or "?") for base in node.bases)
        self.walk(node)
        self.cls = outer
