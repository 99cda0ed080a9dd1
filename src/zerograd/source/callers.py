"""The calls between the functions of a project: which one a call runs, what it hands over, and who calls one."""

import ast
from collections.abc import Iterator

from zerograd.source.callees import callees_of
from zerograd.source.paths import path_of
from zerograd.source.reading import Reading
from zerograd.source.scopes import Function, Scope


def called(path: str, scope: Scope) -> Function | None:
    """The one function of this project that is called: by its name, as a method, or as a module's forward pass."""
    callees = callees_of(path, scope)
    return callees[0].function if len(callees) == 1 else None


def arguments(call: ast.Call, function: Function) -> Iterator[tuple[str, ast.expr]]:
    """What a call hands to each parameter."""
    parameters = function.scope.parameters
    if function.scope.owner is not None and parameters[:1] == ("self",):
        parameters = parameters[1:]
    yield from zip(parameters, call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def calls_of(function: Reading) -> Iterator[tuple[Reading, ast.Call]]:
    """The calls of a function in its own file, by its name, and where they stand."""
    program, name = function.file.program, getattr(function.node, "name", None)
    roots: list[tuple[ast.AST, Scope]] = [(program.tree, program.roots.module), *program.roots.functions]
    for node, scope in roots if name else ():
        for call in program.nodes(node).of(ast.Call):
            if (path_of(call.func) or "").rpartition(".")[2] == name and node is not function.node:
                yield Reading(node, (), scope, function.file), call


def runs(call: ast.Call, where: Reading, function: Reading) -> bool:
    """Whether a call runs this very function, and not another of its name."""
    found = called(path_of(call.func) or "", where.scope)
    return found is not None and found.node is function.node


def handed_in(function: Reading, name: str) -> Iterator[tuple[Reading, ast.expr | None]]:
    """What the calls in its own file hand to a parameter, and where; None if it cannot be told."""
    node = function.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for where, call in calls_of(function):
        given = dict(arguments(call, Function(node, function.scope)))
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            yield where, None
        elif name in given:
            yield where, given[name]


def is_handed_too(name: str, function: Reading) -> bool:
    """Whether a function takes a variable of the file's that it is given as well: by the other name it may have done
    everything already."""
    scope = function.scope
    if "." in name or scope.owns(name) or name not in scope.module.assigned or not scope.parameters:
        return False
    if not _may_hand(name, f"{getattr(function.node, 'name', '')}(", function.file.text):
        return False
    given = (one for _, call in calls_of(function) for one in (*call.args, *(named.value for named in call.keywords)))
    return any(path_of(one) == name for one in given)


def _may_hand(name: str, call: str, text: str) -> bool:
    """Whether a name stands between the brackets of some call: a look at the text, which costs less than all calls."""
    at = text.find(call)
    while at >= 0:
        if text[max(at - 4, 0) : at] != "def " and name in text[at : text.find(")", at)]:
            return True
        at = text.find(call, at + 1)
    return False
