"""One pass over a file that fills in its scopes."""

import ast
from typing import NamedTuple

from zerograd.source.names.opaque import makes_worker
from zerograd.source.names.roles import role_of
from zerograd.source.names.scopes import Assigned, Binding, Elsewhere, Function, FunctionNode, Role, Scope
from zerograd.source.text.nodes import below, inner_statements
from zerograd.source.text.paths import path_of

# Statements that bind nothing and have none below them.
_SILENT = frozenset({ast.Expr, ast.Return, ast.AugAssign, ast.Pass, ast.Raise, ast.Assert, ast.Continue, ast.Break})
# Those that bind names by themselves, and those that have none below them.
_BINDING = frozenset({ast.Import, ast.ImportFrom, ast.AnnAssign, ast.For, ast.AsyncFor, ast.withitem})
_BINDING |= {ast.Global, ast.Nonlocal}
_FLAT = frozenset({ast.Import, ast.ImportFrom, ast.AnnAssign, ast.withitem, ast.Delete, ast.Global, ast.Nonlocal})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SEVERAL = (ast.Tuple, ast.List)
_OPTIMIZERS = frozenset({"SGD", "Adam", "AdamW", "RMSprop", "Momentum"})
_ROLES = (ast.Call, ast.Name, ast.Attribute, ast.Subscript)  # what may have one
_OTHER_NAMES = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)
_Arms = frozenset[tuple[ast.AST, bool]]


def _names(target: ast.AST) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    return [node.id for node in below(target) if isinstance(node, ast.Name)]


class Roots(NamedTuple):
    """Everything in a file that can be entered: the module's own body, and each function with its scope."""

    module: Scope
    functions: list[Function]


def bind_module(tree: ast.Module, elsewhere: Elsewhere | None = None) -> Roots:
    binder = _Binder(frozenset(node.name for node in tree.body if isinstance(node, ast.ClassDef)))
    binder.scope.elsewhere = elsewhere
    binder.walk(tree)
    binder.bind_the_rest()
    for cls in binder.classes:
        cls.settled = True
    return Roots(binder.scope, binder.functions)


class _Binder:
    """One pass over a file that fills in its scopes."""

    def __init__(self, classes: frozenset[str]) -> None:
        self.scope = Scope()
        self._classes = classes  # of the file's own level
        self._early: list[tuple[Scope, _Arms, ast.AST, ast.Call]] = []  # objects whose class comes further down
        self.cls: Scope | None = None  # set while directly in a class body
        self.functions: list[Function] = []
        self.classes: list[Scope] = []
        self._arms: _Arms = frozenset()  # of the branches we are in
        self._made: dict[tuple[Scope, str], list[tuple[_Arms, Binding]]] = {}  # the objects bound to a path, and where

    def walk(self, node: ast.AST) -> None:
        self._walk(inner_statements(node))

    def _walk(self, statements: list[ast.AST] | list[ast.stmt]) -> None:
        for child in statements:
            kind = type(child)
            if kind in _SILENT:
                continue
            if isinstance(child, ast.Assign):
                for target in child.targets:
                    self._bind(target, child.value)
            elif isinstance(child, _FUNCTIONS):
                self._function(child)
            elif isinstance(child, ast.ClassDef):
                self._class(child)
            elif isinstance(child, ast.If):
                outer = self._arms
                for arm, its in ((True, child.body), (False, child.orelse)):
                    self._arms = outer | {(child, arm)}
                    self._walk(its)
                self._arms = outer
            else:
                if kind in _BINDING:
                    self._statement(child)
                if kind not in _FLAT:
                    self.walk(child)

    def _statement(self, node: ast.AST) -> None:
        match node:
            case ast.For(target=target) | ast.AsyncFor(target=target):
                self._rebind(_names(target))
            case ast.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    self.scope.imports[alias.asname or root] = alias.name if alias.asname else root
            case ast.ImportFrom(module=source, names=names, level=level):
                above = "." * level + (f"{source}." if source else "")  # `.` for this package, as Python writes it
                for alias in names:
                    if alias.name == "*":
                        self.scope.module.stars.append(above)
                    else:
                        self.scope.imports[alias.asname or alias.name] = above + alias.name
            case ast.AnnAssign(target=target, value=ast.AST() as value):
                self._bind(target, value)
            case ast.Global(names=shared):
                self.scope.shared.update(dict.fromkeys(shared, self.scope.module))
            case ast.Nonlocal(names=shared):
                self.scope.shared.update(dict.fromkeys(shared, self.scope.parent or self.scope))
            case ast.withitem(optional_vars=ast.AST() as target):
                self._rebind(_names(target))

    def _rebind(self, names: list[str]) -> None:
        self.scope.assigned.update(names)
        for name in names:
            if name in self.scope.stands_for:
                self.scope.stands_for[name] = ""

    def _function(self, node: FunctionNode) -> None:
        outer, cls = self.scope, self.cls
        # A method sees the names outside its class, and the class only through self.
        self.scope, self.cls = Scope(outer, owner=cls or outer.owner), None
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        self.scope.parameters = tuple([argument.arg for argument in every if argument is not None])
        function = Function(node, self.scope)
        (cls or outer).functions[node.name] = function
        self.functions.append(function)
        self.walk(node)
        self.scope, self.cls = outer, cls

    def _class(self, node: ast.ClassDef) -> None:
        outer, self.cls = self.cls, Scope(self.scope)
        self.classes.append(self.cls)
        self.scope.class_scopes[node.name] = self.cls
        self.cls.bases = tuple(self.scope.dotted(path_of(base) or "?") for base in node.bases)
        self.walk(node)
        self.cls = outer

    def _bind(self, target: ast.AST, value: ast.AST) -> None:
        if isinstance(target, _SEVERAL):
            if isinstance(value, _SEVERAL):
                for one, its in zip(target.elts, value.elts, strict=False):
                    self._bind(one, its)
            return
        path = path_of(target)
        if path is None:
            return
        scope = self.scope
        home = scope.owner if scope.owner is not None and path.startswith("self.") else scope
        if scope.shared:
            home = scope.shared.get(_root(path), home)
        call = value if isinstance(value, ast.Call) else None
        if call is not None and makes_worker(call):
            home.workers.add(path)
        if scope.stands_for:
            for other, whose in scope.stands_for.items():
                if whose == path:
                    scope.stands_for[other] = ""  # it keeps what had that name before
        if home is scope and isinstance(target, ast.Name):
            if isinstance(value, _OTHER_NAMES):
                _note_other_name(scope, path, value)
            elif path in scope.stands_for or (call is not None and _is_home_made(call, scope)):
                scope.stands_for[path] = ""
        if home is scope and scope.parent is not None:
            again = path in scope.assigned
            if again or isinstance(value, _ROLES):  # a number, a sum: bound for the first time, it is nothing
                scope.later(Assigned(path, target, value, self._arms, again), self._bind_now)
            scope.assigned.add(path)
        else:
            self._bind_path(path, home, target, value, again=path in home.assigned)

    def _bind_now(self, scope: Scope, assigned: list[Assigned]) -> None:
        """The local variables of a function that somebody asks for."""
        outer, arms = self.scope, self._arms
        for one in assigned:
            self.scope, self._arms = scope, one.arms
            self._bind_path(one.path, scope, one.target, one.value, again=one.again)
        self.scope, self._arms = outer, arms

    def _bind_path(self, path: str, home: Scope, target: ast.AST, value: ast.AST, *, again: bool) -> None:
        scope = self.scope
        binding = role_of(value, scope) if isinstance(value, _ROLES) else None
        if isinstance(value, ast.Call):
            maker = path_of(value.func) or ""
            if binding is None and self._comes_later(maker):
                self._early.append((scope, self._arms, target, value))
            if binding is None and ("optim" in maker or (maker and "opt" in path.lower())):
                home.makers[path] = maker
            if "scale" in maker.lower():
                home.scaled.add(path)
        if home is scope.owner:
            if isinstance(value, ast.Name):
                scope.keeps[value.id] = path
                if value.id in scope.parameters:
                    home.kept[path] = value.id
            binding = _as_kept(binding, scope) if binding is not None else None
        home.assigned.add(path)
        known = home.bindings
        if binding is None or (again and binding.role is Role.SCALED_LOSS):  # on one path, and plain on another
            if path in known and known[path].role is Role.LEAF:
                del known[path]  # made of something else by then
            return
        if binding.role is Role.OPTIMIZER:
            home.optimizers.add(path)
        known[path] = self._beside_others(home, path, binding) if binding.role is Role.INSTANCE else binding

    def _comes_later(self, name: str) -> bool:
        """Whether a class of this file is called that stands further down."""
        return name in self._classes and name not in self.scope.module.class_scopes

    def bind_the_rest(self) -> None:
        """The objects whose class is known by now, where nothing else was bound."""
        top, early, self._early = self.scope, self._early, []
        for scope, arms, target, value in early:
            path = path_of(target) or ""
            home = scope.owner if path.startswith("self.") and scope.owner is not None else scope
            known = home.bindings.get(path)
            if known is None or known.role is Role.INSTANCE:
                self.scope, self._arms = scope, arms
                self._bind(target, value)
        self.scope = top

    def _beside_others(self, home: Scope, path: str, binding: Binding) -> Binding:
        """An object, with those that other arms of the branches around it bind to the same path."""
        made = self._made.setdefault((home, path), [])
        others = tuple(other for arms, other in made if any((branch, not arm) in arms for branch, arm in self._arms))
        made.append((self._arms, binding))
        return binding._replace(beside=others) if others else binding


def _note_other_name(scope: Scope, name: str, value: ast.AST) -> None:
    """optim = self.optim: another name for it, as long as it is given nothing else."""
    arms = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    whose = [path for arm in arms if (path := path_of(arm)) is not None and _root(path) != name]
    again = name in scope.assigned or name in scope.parameters
    own = bool(whose) and whose[0].removeprefix("self.").isidentifier()  # agent.opt: the agent may change it
    if own and not again and len(whose) == len(arms) == 1:
        scope.stands_for[name] = whose[0]
    elif any("[" not in path for path in whose) or name in scope.stands_for:
        scope.stands_for[name] = ""


def _is_home_made(value: ast.Call, scope: Scope) -> bool:
    """SGD(model, lr=1), of a library that was written as an exercise: torch's are given parameters."""
    if not value.args or not isinstance(value.args[0], ast.Name):
        return False
    if isinstance(value.func, ast.Attribute) and value.func.attr not in _OPTIMIZERS:
        return False  # most
    dotted, given = scope.dotted(path_of(value.func) or ""), value.args[0].id
    return dotted.rpartition(".")[2] in _OPTIMIZERS and dotted[:6] != "torch." and "param" not in given.lower()


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _as_kept(binding: Binding, scope: Scope) -> Binding:
    """What an attribute is bound to, in the names that other methods have for it: `model` is theirs as `self.model`."""
    if not binding.over and not binding.keeps:
        return binding
    over = tuple(_kept_path(path, scope) for path in binding.over)
    keeps = ((name, _kept_path(path, scope)) for name, path in binding.keeps)
    return binding._replace(over=over, keeps=tuple((name, path) for name, path in keeps if not _is_local(path, scope)))


def _is_local(path: str, scope: Scope) -> bool:
    root = _root(path)
    return root != "self" and scope.owns(root)


def _kept_path(path: str, scope: Scope) -> str:
    root = _root(path)
    return scope.keeps.get(root, root) + path[len(root) :]
