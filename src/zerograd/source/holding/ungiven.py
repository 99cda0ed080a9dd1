"""Groups of parameters that are filled like those beside them, and given to nobody (ZG008).

group = {"lr": 1e-5, "params": []}
group["params"].append(...)
groups.append(group)
group = {"lr": 5e-2, "params": []}
group["params"].append(...)                # and no groups.append(group)
optimizer = AdamW(groups)

Told only where the same name was given on before, and in a function that makes the optimizer itself.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Function
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import File, Reading

_QUOTED = ("params'", 'params"')  # hardly anybody names it: two words to look for, and not four
_EMPTY = ("'params'] = []", '"params"] = []', "'params': []", '"params": []')
_MESSAGE = "{name} collects parameters, but no optimizer is given them"
_CURE = "append {name} to the parameter groups of the optimizer, like the groups before it"


def detect(file: File) -> Iterator[Finding]:
    if not any(map(file.says, _QUOTED)) or not any(map(file.says, _EMPTY)):
        return
    for one in file.program.roots.functions:
        text = within(file.text, one.node)
        if "params" in text and ".append(" in text:
            yield from _inside(one, file)


def _inside(function: Function, file: File) -> Iterator[Finding]:
    reading = Reading(function.node, (), function.scope, file)
    if not any(makes_optimizer(call, function.scope) for call in reading.of(ast.Call)):
        return
    body = function.node.body
    names = [path for node in body if (path := _begun(node)) is not None]
    for name in dict.fromkeys(one for one in names if names.count(one) > 1):
        starts = [place for place, node in enumerate(body) if _begun(node) == name]
        parts = [body[first:last] for first, last in zip(starts, [*starts[1:], len(body)], strict=True)]
        given = [_is_given(part, name) for part in parts]
        if given[0] and not all(given):
            for part in (part for part, its in zip(parts, given, strict=True) if not its and _is_filled(part, name)):
                found = note(REGISTRY["ZG008"], reading.site(part[0]), certain=True, deposit="", parameters=name)
                yield found._replace(message=_MESSAGE.format(name=name), cure=_CURE.format(name=name))


def _begun(node: ast.stmt) -> str | None:
    """The name of `group = {...}`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict()):
            return name
    return None


def _is_given(part: list[ast.stmt], name: str) -> bool:
    """Whether the group itself is used, and not only what is in it."""
    nodes = [node for statement in part for node in below(statement)]
    opened = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    return any(id(node) not in opened for node in uses if isinstance(node.ctx, ast.Load))


def _is_filled(part: list[ast.stmt], name: str) -> bool:
    """group["params"].append(parameter)"""
    for node in (node for statement in part for node in below(statement)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Subscript() as group, attr="append" | "extend")):
                if path_of(group.value) == name and getattr(group.slice, "value", "") == "params":
                    return True
    return False
