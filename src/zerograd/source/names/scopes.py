"""Names and where they are looked up.

A path is a name as it is written: `optimizer`, `self.opt`, `opts[0]`. Scopes nest as in Python; `self.` paths belong
to the class. A path may stand for several things in one scope: what it is bound to last in the text counts.
"""

import ast
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol, Union

from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of

if TYPE_CHECKING:
    from zerograd.source.counting.ones import Refusal
    from zerograd.source.lowering.skeleton import Block

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Role(Enum):
    """What a path is bound to, as far as the text shows it."""

    OPTIMIZER = "optimizer"
    SCHEDULER = "scheduler"
    SCALER = "scaler"
    SCALED_LOSS = "scaled loss"  # scaler.scale(loss), kept in a variable
    LEAF = "leaf"  # a tensor made anew that requires a gradient: Variable(loss, requires_grad=True)
    TORCH = "torch"  # made by torch itself: a module, a tensor, a dataset. Calling it deposits nothing
    INSTANCE = "instance"  # made by a class of this project


class Binding(NamedTuple):
    role: Role
    made_by: str = ""  # the dotted name that was called
    over: tuple[str, ...] = ()  # of a schedule: its optimizer's path; of an optimizer: its modules'; of a scaler: "off"
    keeps: tuple[tuple[str, str], ...] = ()  # of an instance: what it was given, by its own name for it (self.opt)
    cls: "Scope | None" = None  # of an instance: its class
    beside: "tuple[Binding, ...]" = ()  # of an instance: those that the other arms of a branch bind instead


_ABSENT = frozenset({"NotImplementedError", "NotImplemented"})


class Function(NamedTuple):
    """A function of the project, and the scope of its body."""

    node: FunctionNode
    scope: "Scope"

    @property
    def is_abstract(self) -> bool:
        """Whether it only stands for what a subclass does; or is a method that nobody is to call, and empty."""
        last = self.node.body[-1]
        if isinstance(last, ast.Pass) and self.node.args.args and self.scope.owner is not None:
            return len(self.node.body) < 3  # with its docstring
        given = last.exc if isinstance(last, ast.Raise) else last.value if isinstance(last, ast.Return) else None
        name = path_of(given.func if isinstance(given, ast.Call) else given) if given is not None else None
        if name in _ABSENT or not self.node.decorator_list:
            return name in _ABSENT
        return any((path_of(one) or "").rpartition(".")[2] == "abstractmethod" for one in self.node.decorator_list)


# What a dotted name stands for in another file: a function, a class, or None. Of a class that another one derives from
# it counts what it keeps, even if nothing in its file touches a gradient.
class Home(Protocol):
    """The file that functions stand in (program.py)."""

    path: str
    text: str
    tree: ast.Module
    copies: bool  # something is copied there

    def function(self, function: "Function") -> "Block": ...

    def does_something(self, function: "Function") -> bool: ...

    def nodes(self, function: ast.AST) -> Nodes: ...

    def calls_named(self, name: str) -> "list[tuple[ast.AST, Scope, ast.Call]]": ...


class Elsewhere(Protocol):
    """`cutting`: also where no event is named, if a loss is cut from its graph there, or divided for a group."""

    def __call__(self, dotted: str, derived: bool, cutting: bool = False) -> Union["Function", "Scope", None]: ...


class Assigned(NamedTuple):
    """An assignment to a local variable. `arms`: of the branches it stands in."""

    path: str
    target: ast.AST
    value: ast.AST
    arms: frozenset[tuple[ast.AST, bool]]
    again: bool  # something was assigned to it before


Binder = Callable[["Scope", list[Assigned]], None]


class Scope:
    """The bindings of one function, class or module; an unknown path is looked up outside."""

    __slots__ = (  # thousands of them, and asked all the time
        *("parent", "module", "owner", "imports", "_bindings", "_later", "_binder", "functions", "bases", "shared"),
        *("makers", "optimizers", "assigned", "workers", "scaled", "elements", "parameters", "kept", "keeps"),
        *("stands_for", "class_scopes", "elsewhere", "stars", "ones", "tidies", "repairs", "home", "old", "settled"),
        "_lineage",
    )

    def __init__(self, parent: "Scope | None" = None, *, owner: "Scope | None" = None) -> None:
        self.parent = parent
        self.module: Scope = self if parent is None else parent.module
        self.owner = owner  # the class whose `self` this method has
        self.imports: dict[str, str] = {}
        self._bindings: dict[str, Binding] = {}
        self._later: list[Assigned] = []  # of a function: what is bound when somebody asks, and mostly nobody does
        self._binder: Binder | None = None
        self.functions: dict[str, Function] = {}
        self.bases: tuple[str, ...] = ()  # of a class: the dotted names it derives from
        self.shared: dict[str, Scope] = {}  # of a function: its `global` and `nonlocal` names, and whose they are
        self.makers: dict[str, str] = {}  # what made an optimizer, by the path it is bound to: make_optimizer
        self.optimizers: set[str] = set()  # every path that one is bound to, whatever else it is bound to later
        self.assigned: set[str] = set()  # every path that is assigned, whatever to
        self.workers: set[str] = set()  # objects that nobody can read, and that were given what one trains with
        self.scaled: set[str] = set()  # those that something named for scaling is assigned to, on some path
        self.elements: dict[str, str] = {}  # loop variables of the loops we are in: opt -> opts[*]
        self.parameters: tuple[str, ...] = ()  # of a function
        self.kept: dict[str, str] = {}  # of a class: attributes that are parameters of __init__
        self.keeps: dict[str, str] = {}  # of a method: its names for what is kept in an attribute: model -> self.model
        self.stands_for: dict[str, str] = {}  # optim: self.optim; "" for one that is now this and now that
        self.class_scopes: dict[str, Scope] = {}
        self.elsewhere: Elsewhere | None = None  # of a module: what the names it imports stand for
        self.stars: list[str] = []  # of a module: those it imports all names of
        self.ones: dict[
            str, tuple[Refusal, ...] | None
        ] = {}  # of a module: where a name is refused if not 1; None: nobody asks
        self.tidies: bool | None = None  # of a module: whether it has a step() that clears; None: nobody has asked
        self.repairs: bool | None = None  # of a module: whether it gives an optimizer another step()
        self.home: Home | None = None  # of a module: what knows the skeletons of its functions
        self.old = False  # of a module: it is written for a torch before 1.0
        self.settled = False  # of a class: its file is bound, so that its bases stay what they are
        self._lineage: tuple[Scope, ...] | None = None

    @property
    def bindings(self) -> dict[str, Binding]:
        if self._later:
            self.settle()
        return self._bindings

    def later(self, assigned: Assigned, binder: Binder) -> None:
        """Leave an assignment to whoever asks for it first."""
        self._later.append(assigned)
        self._binder = binder

    def settle(self) -> None:
        """Bind what was left for later, in text order, as it was written: outside of every loop."""
        later, self._later = self._later, []
        elements, self.elements = self.elements, {}
        if self._binder is not None and later:
            self._binder(self, later)
        self.elements = elements

    def slot(self, node: ast.AST) -> str | None:
        """The path an expression names, with a loop variable told by what it runs over."""
        path = path_of(node)
        path = (path not in self.elements and self.stands_for.get(path or "")) or path
        if path is not None and "." in path and not path.startswith("self."):
            path = self._given(path)
        return path if path is None or not self.elements else self.told(path)

    def _given(self, path: str) -> str:
        """What an object was given, by the name of who gave it: schedule.optimizer of schedule = Warmup(opt)."""
        owner, _, name = path.rpartition(".")
        binding = self.lookup(owner)
        kept = dict(binding.keeps) if binding is not None and binding.role is Role.INSTANCE else {}
        return kept.get(f"self.{name}", path)

    def told(self, path: str) -> str:
        """A path that begins with a loop variable, told by what that runs over: opt.inner -> opts[*].inner."""
        root = path.partition(".")[0].partition("[")[0]
        return self.elements.get(root, root) + path[len(root) :]

    def optimizer_of(self, model: str | None) -> str | None:
        """The one optimizer that was made over this model's parameters."""
        scopes = [scope for scope in (self, self.owner, self.parent) if scope is not None]
        found = {
            path
            for scope in scopes
            for path, binding in scope.bindings.items()
            if binding.role is Role.OPTIMIZER and binding.over == (model,)
        }
        return found.pop() if model is not None and len(found) == 1 else None

    def lookup(self, path: str) -> Binding | None:
        scope: Scope | None = self
        of_self = path[:5] == "self."
        while scope is not None:
            if of_self and scope.owner is not None:
                for cls in scope.owner.lineage():
                    found = cls._bindings.get(path)  # of a class, nothing is left for later
                    if found is not None:
                        return found
                return None
            if scope._later:
                scope.settle()
            found = scope._bindings.get(path)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def owns(self, name: str) -> bool:
        """Whether `name` is a local of this function."""
        return self.parent is not None and (name in self.parameters or name in self.assigned)

    def defines(self, name: str) -> bool:
        """Whether `name` is made here, or in what this stands in, and not imported."""
        mine = name in self.parameters or name in self.assigned or name in self.functions
        return name not in self.imports and (mine or (self.parent is not None and self.parent.defines(name)))

    def is_inside(self, other: "Scope") -> bool:
        return self.parent is not None and (self.parent is other or self.parent.is_inside(other))

    def function(self, path: str) -> Function | None:
        """The function of this project that a call of `path` runs."""
        if path.startswith("self.") and self.owner is not None:
            return self.owner.method(path[5:])
        scope: Scope | None = self
        while scope is not None:
            if path in scope.functions:
                return scope.functions[path]
            if scope.owns(path) and path not in scope.shared:
                return None  # a value of the same name
            scope = scope.parent
        imported = self._imported(path)
        return imported if isinstance(imported, Function) else None

    def lineage(self) -> "tuple[Scope, ...]":
        """Of a class: itself and its base classes in this project, nearest first."""
        if self._lineage is not None:
            return self._lineage
        pending, found = [self], dict[Scope, None]()
        while pending:
            cls = pending.pop(0)
            if cls not in found:
                found[cls] = None
                pending += [base for name in cls.bases if (base := cls.class_scope(name, derived=True)) is not None]
        lineage = tuple(found)
        if self.settled:
            self._lineage = lineage
        return lineage

    def method(self, name: str) -> Function | None:
        """Of a class: its own method, or that of a base class."""
        return next((cls.functions[name] for cls in self.lineage() if name in cls.functions), None)

    def class_scope(self, name: str, *, derived: bool = False) -> "Scope | None":
        """The class of this project that a dotted name stands for; `derived`: one that another class derives from."""
        scope = self
        while (found := scope.class_scopes.get(name)) is None and scope.parent is not None:
            scope = scope.parent
        if found is not None or scope.elsewhere is None:
            return found
        imported = scope.elsewhere(name, derived) if "." in name else scope._among_stars(name, derived)
        return imported if isinstance(imported, Scope) else None

    def _imported(self, path: str) -> "Function | Scope | None":
        """What a name that is imported stands for."""
        head = path.partition(".")[0]
        scope: Scope | None = self
        while scope is not None and head not in scope.imports:
            if scope.owns(head):
                return None
            scope = scope.parent
        module = self.module
        if scope is None:
            return module._among_stars(path)
        return module.elsewhere(scope.dotted(path), False) if module.elsewhere is not None else None

    def _among_stars(self, name: str, derived: bool = False) -> "Function | Scope | None":
        """Of a module: a name that came with `from ... import *`."""
        if not self.stars or self.elsewhere is None or "." in name:
            return None
        return next((found for star in self.stars if (found := self.elsewhere(star + name, derived)) is not None), None)

    def dotted(self, path: str) -> str:
        """`path` with its first name replaced by what it was imported as: `nn.Linear` -> `torch.nn.Linear`."""
        head, dot, rest = path.partition(".")
        scope: Scope | None = self
        while scope is not None:
            if head in scope.imports:
                return scope.imports[head] + dot + rest
            scope = scope.parent
        return path
