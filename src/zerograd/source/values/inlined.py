"""A method with those of its own class that it calls put in their places: one text, where losses go through attributes.

    def optimize(self):              def optimize(self):
        self.forward()                   self.fake = self.G(self.real)
        self.backward_G()        ->      self.loss_G = self.D(self.fake).mean()
        self.opt.step()                  self.loss_G.backward(retain_graph=True)
                                         self.opt.step()

The nodes are copies with places of their own, counted through: what stood in another method stands here in order.
"""

import ast
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from typing import NamedTuple

from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below, place
from zerograd.source.text.paths import path_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import File, Reading

_DEEP = 3  # calls inside calls
_MOST, _CALLS = 3000, 20  # nodes, and methods: a tangle is left as it is
_METHODS = 60  # of a class
_BEYOND = 10_000_000  # no line of any text
_BLOCKS = ("body", "orelse", "finalbody")


class Inlined(NamedTuple):
    """A driver as one text, the methods it was put together of, and of each copied call where it stood."""

    reading: Reading
    methods: list[ast.AST]
    origins: dict[ast.Call, tuple[tuple[int, int], tuple[int, int]]]

    def copies_of(self, call: ast.Call) -> list[ast.Call]:
        return [copy for copy, origin in self.origins.items() if origin == place(call)]


def drivers_of(method: Function, file: File) -> Iterator[Function]:
    """The methods of its class that call a method: each with all that it does around that."""
    cls = method.scope.owner
    for one in cls.lineage() if cls is not None else ():
        for other in one.functions.values():
            calls = file.program.nodes(other.node).of(ast.Call)
            if other.node is not method.node and any(
                path_of(call.func) == f"self.{method.node.name}" for call in calls
            ):
                yield other


def is_fresh(path: str, cls: Scope, file: File) -> bool:
    """Whether everyone who is called from outside assigns an attribute before reading it: what it kept, nobody sees."""
    methods = [method for one in cls.lineage() for method in one.functions.values()]
    if len(methods) > _METHODS:
        return False
    called = {path_of(call.func) for method in methods for call in file.program.nodes(method.node).of(ast.Call)}
    for method in methods:
        if f"self.{method.node.name}" not in called and method.node.name != "__init__":
            whole = inline(method, cls, file)
            if whole is None or not _assigns_first(whole.reading, path):
                return False
    return True


def _assigns_first(function: Reading, path: str) -> bool:
    names = definitions_of(function)
    reads = [one for one in function.of(ast.Attribute) if isinstance(one.ctx, ast.Load) and path_of(one) == path]
    return all((reached := names.reaching(path, one)) is not None and reached.certain for one in reads)


@lru_cache(maxsize=64)  # every retained graph of a class asks for the same drivers
def inline(driver: Function, cls: Scope, file: File) -> Inlined | None:
    """None if it is too much, or if a method that touches gradients is still called, or may be another one."""
    writer = _Writer(cls, driver)
    try:
        node = deepcopy(driver.node)
        node.body = writer.block(node.body, _DEEP)
        nodes = below(node)
        if len(nodes) > _MOST or _is_overridden(writer.methods, cls, file) or _calls_more(nodes, cls, file):
            return None
        origins = {one: place(one) for one in nodes if isinstance(one, ast.Call)}
        _count(node, [_BEYOND])
    except RecursionError:
        return None
    block = file.program.lowered(node, driver.scope)
    return Inlined(Reading(node, block, driver.scope, file), writer.methods, origins)


def _calls_more(nodes: list[ast.AST], cls: Scope, file: File) -> bool:
    """Whether a method that deposits, steps or clears was not put in its place: nobody knows what it goes through."""
    paths = (path_of(node.func) or "" for node in nodes if isinstance(node, ast.Call))
    methods = (cls.method(path.removeprefix("self.")) for path in paths if path.startswith("self."))
    return any(method is not None and file.program.body_of(method) for method in methods)


def _is_overridden(methods: list[ast.AST], cls: Scope, file: File) -> bool:
    """Whether a class of this file that derives from this one does something else under one of these names."""
    names = {getattr(method, "name", "") for method in methods}
    others = {one.scope.owner for one in file.program.roots.functions if one.scope.owner not in (None, cls)}
    return any(cls in other.lineage() and names & other.functions.keys() for other in others if other is not None)


class _Writer:
    """Writes the bodies of methods in the place of their calls, with names of their own."""

    def __init__(self, cls: Scope, driver: Function) -> None:
        self._cls = cls
        self.methods: list[ast.AST] = [driver.node]

    def block(self, statements: list[ast.stmt], deep: int) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in statements:
            called = self._called(statement) if deep else None
            if called is not None:
                found += self._body(*called, deep)
                continue
            for name in _BLOCKS:
                inner = getattr(statement, name, None)
                if inner:
                    setattr(statement, name, self.block(inner, deep))
            found.append(statement)
        return found

    def _called(self, statement: ast.stmt) -> tuple[Function, ast.Call] | None:
        """self.backward_G(), as a statement: what it returns is of no use."""
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) as call):
                method = self._cls.method(name)
                few = len(self.methods) < _CALLS
                return (method, call) if few and method is not None and _is_plain(method, call) else None
        return None

    def _body(self, method: Function, call: ast.Call, deep: int) -> list[ast.stmt]:
        self.methods.append(method.node)
        node, mine = deepcopy(method.node), f"__{len(self.methods)}"
        body = node.body[:-1] if isinstance(node.body[-1], ast.Return) else node.body
        inner = self.block(body, deep - 1)
        names = {*method.scope.parameters[1:], *method.scope.assigned}
        for part in (part for statement in inner for part in below(statement)):
            if isinstance(part, ast.Name) and part.id in names:
                part.id += mine
        given = zip(method.scope.parameters[1:], call.args, strict=False)
        pairs = [*given, *((named.arg, named.value) for named in call.keywords if named.arg)]
        handed = [_assigned(name + mine, value, call) for name, value in pairs]
        return [*handed, *inner]


def _assigned(name: str, value: ast.expr, call: ast.Call) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), call)
    return ast.copy_location(ast.Assign([target], value), call)


def _is_plain(method: Function, call: ast.Call) -> bool:
    """Whether it runs through to its end: no way leaves it earlier, and its arguments can be told apart."""
    node = method.node
    leaves = [part for part in below(node) if isinstance(part, ast.Return | ast.Yield | ast.YieldFrom | ast.Await)]
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    last = node.body[-1]
    return not starred and not node.decorator_list and all(one is last for one in leaves)


def _count(node: ast.AST, counter: list[int]) -> None:
    """Gives every node a place behind the one before it."""
    begin = counter[0] = counter[0] + 1
    for child in ast.iter_child_nodes(node):
        _count(child, counter)
    counter[0] += 1
    if isinstance(node, ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern):
        node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = begin, 0, counter[0], 0
