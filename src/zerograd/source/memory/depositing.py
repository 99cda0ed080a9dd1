"""The functions whose results go backward."""

import ast
from functools import lru_cache

from zerograd.source.names.scopes import Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.definitions import Definition, Definitions, Item, definitions_of
from zerograd.source.values.reading import File, Reading


def deposited(file: File) -> dict[str, set[Item]]:
    """The functions whose results backward() is called on, by their names, and which of several results it is."""
    found: dict[str, set[Item]] = {}
    for call, at, _ in _depositing(file):
        found.setdefault((path_of(call.func) or "").rpartition(".")[2], set()).add(at)
    return found


@lru_cache(maxsize=2)  # asked of every function of a file
def _depositing(file: File) -> list[tuple[ast.Call, Item, Scope]]:
    """The calls whose results go backward, which of several results it is, and where."""
    found: list[tuple[ast.Call, Item, Scope]] = []
    program = file.program
    trains = [one for one in program.roots.functions if "backward(" in within(file.text, one.node)]
    roots: list[tuple[ast.AST, Scope]] = [(program.tree, program.roots.module), *trains]
    for node, scope in roots:
        funcs = [call.func for call in program.nodes(node).of(ast.Call) if isinstance(call.func, ast.Attribute)]
        losses = [part for func in funcs if func.attr == "backward" for part in below(func.value)]
        if losses:
            names = definitions_of(Reading(node, (), scope, file))
            made = [one for part in losses for one in _made(part, names)]
            found += [(one.value, one.at, scope) for one in made if isinstance(one.value, ast.Call)]
    return found


def _made(part: ast.AST, names: Definitions) -> list[Definition]:
    reached = names.reaching(part.id, part) if isinstance(part, ast.Name) else None
    return [*reached.here, *reached.around] if reached is not None else []
