"""The calls of a function in the files beside its own: what they hand to it, where nobody at home calls it."""

import ast
import os
import re
from collections.abc import Iterator

from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.leaves import moved
from zerograd.source.lowering.program import Program
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import calls_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import File, Reading

_FEW = 6  # files that call one function
_Calls = list[tuple[Reading, ast.Call]]


def hands_no_graph(function: Reading, parameter: str) -> bool:
    """Whether all the calls beside hand in something without a graph: a leaf, data, a number. False if there is none,
    or one that cannot be read."""
    node = function.node
    if not isinstance(node, ast.FunctionDef) or any(calls_of(function)):
        return False
    calls = calls_beside(function)
    own = Function(node, function.scope)
    return bool(calls) and all(_is_plain(where, call, own, parameter) for where, call in calls or ())


def calls_beside(function: Reading) -> _Calls | None:
    """All the calls of a function in the files beside; None if some may be unseen."""
    node, texts = function.node, function.file.beside
    if not isinstance(node, ast.FunctionDef) or texts is None:
        return None
    wanted = _Wanted(function, node.name)
    naming = [text for text in texts if node.name in text and wanted.said.search(text) is not None]
    found: _Calls = []
    for text in naming:
        calls = wanted.calls(text) if len(naming) <= _FEW else None
        if calls is None:
            return None
        found += calls
    return found


class _Wanted:
    """A function, as others name it."""

    def __init__(self, function: Reading, name: str) -> None:
        owner = function.scope.owner
        classes = function.scope.module.class_scopes.items()
        self._path, self._name = function.file.path, name
        self._stem = os.path.splitext(os.path.basename(self._path))[0]
        self._class = next((key for key, scope in classes if scope is owner), "") if owner is not None else None
        stem, aliased = re.escape(self._stem), rf"import\s[^\n]*\b{re.escape(self._stem)}\s+as\b"
        plain = rf"(?<!def )(?<![\w.]){name}\b|\b{stem}\.{name}\b|{aliased}"
        self.said = re.compile(plain if owner is None else rf"\.{name}\b")

    def calls(self, text: str) -> _Calls | None:
        try:
            file = File(Program(ast.parse(text), text, self._path), text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        found = list(self._found(file))
        funcs = {id(call.func) for _, call in found if call is not None}
        named = (node for node in below(file.program.tree) if self._is_named(node))
        if any(call is None for _, call in found) or any(id(node) not in funcs for node in named):
            return None
        return [(where, call) for where, call in found if call is not None]

    def _is_named(self, node: ast.AST) -> bool:
        if self._class is not None:
            return isinstance(node, ast.Attribute) and node.attr == self._name
        return isinstance(node, ast.Name) and node.id == self._name

    def _found(self, file: File) -> Iterator[tuple[Reading, ast.Call | None]]:
        program = file.program
        roots: list[tuple[ast.AST, Scope]] = [(program.tree, program.roots.module), *program.roots.functions]
        for node, scope in roots:
            where = Reading(node, (), scope, file)
            for call in program.nodes(node).of(ast.Call):
                path = path_of(call.func) or ""
                if self._class is None and self._is_it(path, self._name, scope):
                    yield where, call
                elif self._class is not None and path.rpartition(".")[2] == self._name:
                    yield where, call if self._is_made(path.rpartition(".")[0], where) else None

    def _is_made(self, receiver: str, where: Reading) -> bool:
        """agent = Agent(...): of the class that is meant, whenever it is made."""
        made = definitions_of(where).every(receiver)
        if not made and receiver not in where.scope.parameters:
            module = where.scope.module
            made = definitions_of(Reading(where.file.program.tree, (), module, where.file)).every(receiver)
        funcs = [path_of(one.value.func) or "" if isinstance(one.value, ast.Call) else "" for one in made]
        return bool(funcs) and all(self._is_it(func, self._class or "", where.scope) for func in funcs)

    def _is_it(self, path: str, name: str, scope: Scope) -> bool:
        if not name:
            return False
        stars = [f".{star}{name}" for star in scope.module.stars] if path == name else []
        return any(dotted.endswith(f".{self._stem}.{name}") for dotted in (*stars, f".{scope.dotted(path)}"))


def _is_plain(where: Reading, call: ast.Call, function: Function, parameter: str) -> bool:
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    given = dict(arguments(call, function)).get(parameter)
    if starred or given is None:
        return not starred
    named = path_of(moved(given)) is not None or isinstance(given, ast.Constant)  # what is computed of a leaf is none
    return named and not Ancestry(where).of(given)
