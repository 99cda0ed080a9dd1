"""Which definition each name of a program means, as Python decides it.

A renamer that asks for this may rename one binding and leave another of the same spelling alone.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope:
    """A module, a class, a function or a comprehension."""

    def __init__(self, node: ast.AST, parent: "Scope | None") -> None:
        self.node, self.parent = node, parent
        self.bound: set[str] = set()
        self.outer: dict[str, bool] = {}  # declared global (True) or nonlocal (False)

    def home(self, name: str) -> "Scope | None":
        """The scope whose `name` is meant here; None for a builtin and for what nobody binds."""
        if name in self.outer:
            return self.top() if self.outer[name] else self._enclosing(name)
        return self if name in self.bound else self._enclosing(name)

    def _enclosing(self, name: str) -> "Scope | None":
        scope = self.parent
        while scope is not None:
            # The names of a class body are not seen from the functions in it.
            if not isinstance(scope.node, ast.ClassDef) and name in scope.bound and name not in scope.outer:
                return scope
            scope = scope.parent
        return None

    def top(self) -> "Scope":
        return self if self.parent is None else self.parent.top()


class Binding(NamedTuple):
    scope: Scope
    name: str


class Occurrence(NamedTuple):
    node: ast.AST
    role: str  # variable, parameter, function, class, import, use
    rename: Callable[[str], None]


class Names:
    """Every binding of a tree with the places that name it, in the order in which they stand."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.scope_of: dict[ast.AST, Scope] = {}  # of each name, call and definition
        self._written: list[tuple[Scope, str, Occurrence]] = []
        self._visit_all(tree.body, Scope(tree, None))
        self.bindings: dict[Binding, list[Occurrence]] = {}
        self.free: set[str] = set()
        for scope, name, occurrence in self._written:
            home = scope.home(name)
            if home is None:
                self.free.add(name)
            else:
                self.bindings.setdefault(Binding(home, name), []).append(occurrence)

    def meaning(self, name: ast.Name) -> Binding | None:
        home = self.scope_of[name].home(name.id)
        return Binding(home, name.id) if home is not None else None

    def roles(self, binding: Binding) -> set[str]:
        return {one.role for one in self.bindings[binding]} - {"use"}

    def definition(self, call: ast.Call) -> ast.FunctionDef | ast.ClassDef | None:
        """The one function or class of this file that a call by name reaches; None if it may be another."""
        binding = self.meaning(call.func) if isinstance(call.func, ast.Name) else None
        if binding is None:
            return None
        binds = [one for one in self.bindings[binding] if one.role != "use"]
        node = binds[0].node if len(binds) == 1 else None
        return node if isinstance(node, ast.FunctionDef | ast.ClassDef) else None

    # The walk: what is evaluated outside a definition is visited in the scope outside.

    def _visit_all(self, nodes: list[ast.stmt] | list[ast.expr], scope: Scope) -> None:
        for node in nodes:
            self._visit(node, scope)

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        self.scope_of[node] = scope
        if isinstance(node, FUNCTIONS):
            self._function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self._bind(scope, node.name, node, "class", "name")
            for part in (*node.decorator_list, *node.bases, *node.keywords):
                self._visit(part, scope)
            self._visit_all(node.body, Scope(node, scope))
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node, scope)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                self._bind(scope, (alias.asname or alias.name).split(".")[0], alias, "import", "asname")
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for at, name in enumerate(node.names):
                scope.outer[name] = isinstance(node, ast.Global)
                if scope.outer[name]:
                    scope.top().bound.add(name)
                self._written.append((scope, name, Occurrence(node, "use", _item_setter(node.names, at))))
        else:
            self._plain(node, scope)

    def _plain(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._written.append((scope, node.id, Occurrence(node, "use", _setter(node, "id"))))
            else:
                self._bind(scope, node.id, node, "variable", "id")
        elif isinstance(node, ast.NamedExpr):
            home = scope
            while isinstance(home.node, COMPREHENSIONS):
                assert home.parent is not None
                home = home.parent
            self._visit(node.target, home)
            self._visit(node.value, scope)
            return
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self._bind(scope, node.name, node, "variable", "name")
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._bind(scope, node.rest, node, "variable", "rest")
        for child in ast.iter_child_nodes(node):
            self._visit(child, scope)

    def _function(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, FUNCTIONS)
        inner = Scope(node, scope)
        if not isinstance(node, ast.Lambda):
            self._bind(scope, node.name, node, "function", "name")
            self._visit_all(node.decorator_list, scope)
            if node.returns:
                self._visit(node.returns, scope)
        self._visit_all([*node.args.defaults, *(one for one in node.args.kw_defaults if one)], scope)
        for arg in arguments(node.args):
            if arg.annotation:
                self._visit(arg.annotation, scope)
            self._bind(inner, arg.arg, arg, "parameter", "arg")
        if isinstance(node, ast.Lambda):
            self._visit(node.body, inner)
        else:
            self._visit_all(node.body, inner)

    def _comprehension(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, COMPREHENSIONS)
        inner = Scope(node, scope)
        first, *_ = node.generators
        self._visit(first.iter, scope)
        for generator in node.generators:
            self._visit(generator.target, inner)
            if generator is not first:
                self._visit(generator.iter, inner)
            self._visit_all(generator.ifs, inner)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self._visit(part, inner)

    def _bind(self, scope: Scope, name: str, node: ast.AST, role: str, field: str) -> None:
        scope.bound.add(name)
        self._written.append((scope, name, Occurrence(node, role, _setter(node, field))))


def arguments(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    yield from (one for one in (args.vararg, args.kwarg) if one is not None)


def _setter(node: ast.AST, field: str) -> Callable[[str], None]:
    return lambda name: setattr(node, field, name)


def _item_setter(names: list[str], at: int) -> Callable[[str], None]:
    return lambda name: names.__setitem__(at, name)
