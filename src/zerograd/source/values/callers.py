"""The calls between the functions of a project: which one a call runs, what it hands over, and who calls one."""

import ast
from collections.abc import Iterator

from zerograd.source.lowering.callees import callees_of
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import SAME
from zerograd.source.values.reading import Reading


def called(path: str, scope: Scope) -> Function | None:
    """The one function of this project that is called: by its name, as a method, or as a module's forward pass."""
    callees = callees_of(path, scope)
    return callees[0].function if len(callees) == 1 else None


def maker_of(value: ast.expr) -> str | None:
    """DiceLoss of DiceLoss().to(device)"""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr=attr)) if attr in SAME:
            return maker_of(inner)
        case ast.Call(func=func):
            return path_of(func)
    return None


def calls_of(function: Reading) -> Iterator[tuple[Reading, ast.Call]]:
    """The calls of a function in its own file, by its name, and where they stand."""
    program, name = function.file.program, getattr(function.node, "name", None)
    for node, scope, call in program.calls_named(name) if name else ():
        if node is not function.node:
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
