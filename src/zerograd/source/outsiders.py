"""What the files beside one hand to a function of it: where nobody in its own file calls it, they know what it gets."""

import ast
import os
from collections.abc import Iterator

from zerograd.source.ancestry import Ancestry
from zerograd.source.callers import arguments, calls_of
from zerograd.source.leaves import moved
from zerograd.source.paths import path_of
from zerograd.source.program import Program
from zerograd.source.reading import File, Reading
from zerograd.source.scopes import Function, Scope

_FEW = 6  # files that call one function


def hands_no_graph(function: Reading, parameter: str) -> bool:
    """Whether all the calls beside hand in something without a graph: a leaf, data, a number. False if there is none,
    or one that cannot be read."""
    node = function.node
    if not isinstance(node, ast.FunctionDef) or function.scope.owner is not None or any(calls_of(function)):
        return False
    files = list(_naming(function.file, node.name))
    calls = [found for file in files if file is not None for found in _calls(file, function.file, node.name)]
    if not calls or None in files or len(files) > _FEW:
        return False
    return all(_is_plain(where, call, Function(node, function.scope), parameter) for where, call in calls)


def _naming(file: File, name: str) -> Iterator[File | None]:
    """The files beside that name a function and the file it is in; None for one that is no Python."""
    stem = _stem(file)
    for text in file.beside or ():
        if name in text and stem in text:
            try:
                yield File(Program(ast.parse(text), text, file.path), text)
            except (SyntaxError, ValueError, RecursionError):
                yield None


def _stem(file: File) -> str:
    return os.path.splitext(os.path.basename(file.path))[0]


def _calls(beside: File, file: File, name: str) -> Iterator[tuple[Reading, ast.Call]]:
    program = beside.program
    roots: list[tuple[ast.AST, Scope]] = [(program.tree, program.roots.module), *program.roots.functions]
    for node, scope in roots:
        for call in program.nodes(node).of(ast.Call):
            if f".{scope.dotted(path_of(call.func) or '')}".endswith(f".{_stem(file)}.{name}"):
                yield Reading(node, (), scope, beside), call


def _is_plain(where: Reading, call: ast.Call, function: Function, parameter: str) -> bool:
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    given = dict(arguments(call, function)).get(parameter)
    if starred or given is None:
        return not starred
    named = path_of(moved(given)) is not None or isinstance(given, ast.Constant)  # what is computed of a leaf is none
    return named and not Ancestry(where).of(given)
