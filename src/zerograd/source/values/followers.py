"""Modules that follow another one, and that no optimizer holds: a teacher, a target network.

teacher = copy.deepcopy(student)                        and whoever trains, trains the student
self.target_net.load_state_dict(self.online_net.state_dict())
"""

import ast

from zerograd.source.text.nodes import below, parents_of
from zerograd.source.text.paths import path_of
from zerograd.source.values.apart import overlap
from zerograd.source.values.callers import values_of
from zerograd.source.values.copies import deepcopied
from zerograd.source.values.reading import Reading

_READS = frozenset({"zip", "enumerate", "len", "sum"})
_KEEPS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Return)


def follows(module: str, stepped: frozenset[str], function: Reading) -> bool:
    """Whether a module is made or filled as a copy of one of those, and no optimizer that is seen can hold it."""
    if overlap(stepped, frozenset({module})):
        return False
    made = [deepcopied(one) for one in values_of(module, function)]
    copied = bool(made) and all(one is not None and overlap(frozenset({one}), stepped) for one in made)
    return (copied or _is_filled(module, stepped, function)) and not _may_be_stepped(module, function)


def _is_filled(module: str, stepped: frozenset[str], function: Reading) -> bool:
    """target.load_state_dict(online.state_dict())"""
    if not function.file.says("load_state_dict(") or not values_of(module, function):
        return False
    for call in _homes(module, function):
        match call:
            case ast.Call(
                func=ast.Attribute(value=on, attr="load_state_dict"), args=[ast.Call(func=func, args=[]), *_]
            ):
                source = (path_of(func) or "").removesuffix(".state_dict")
                if path_of(on) == module and source in stepped:
                    return True
    return False


def _homes(module: str, function: Reading) -> list[ast.Call]:
    """The calls of all that know the module by this name."""
    cls, program = function.scope.owner, function.file.program
    if not module.startswith("self.") or cls is None:
        return function.of(ast.Call)
    methods = [method for one in cls.lineage() for method in one.functions.values()]
    return [call for method in methods for call in program.nodes(method.node).of(ast.Call)]


def _may_be_stepped(module: str, function: Reading) -> bool:
    """Whether its parameters, or it itself, are given to somebody who may make an optimizer of them."""
    tree = function.file.program.tree
    last = module.rpartition(".")[2]
    parents = parents_of(tree)
    for node in below(tree):
        if not isinstance(node, ast.Name | ast.Attribute) or (path_of(node) or "").rpartition(".")[2] != last:
            continue
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.attr in ("parameters", "named_parameters"):
            if not _is_read(parents.get(parent), parents):
                return True
        elif isinstance(parent, ast.Call) and parent.func is not node and "opt" in (path_of(parent.func) or "").lower():
            return True
        elif isinstance(parent, _KEEPS) and path_of(node) == module and isinstance(node.ctx, ast.Load):
            return True  # in a list of modules, it may be anybody's
    return False


def _is_read(asked: ast.AST | None, parents: dict[ast.AST, ast.AST]) -> bool:
    """for p in target.parameters(), zip(target.parameters(), online.parameters()), clip_grad_norm_(...)"""
    outer = parents.get(asked) if asked is not None else None
    if isinstance(outer, ast.For | ast.comprehension):
        return True
    name = (path_of(outer.func) or "").rpartition(".")[2] if isinstance(outer, ast.Call) else ""
    return name in _READS or name.startswith("clip_grad_")
