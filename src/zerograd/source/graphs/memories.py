"""Modules that keep something from one call to the next: a state whose graph the next loss goes through again."""

import ast
import os
from functools import lru_cache

from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text import wording
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import handed_in
from zerograd.source.values.definitions import assigned_by, definitions_of
from zerograd.source.values.reading import File, Reading

_DEPTH = 20
_CALLERS = 3  # that hand a module on
_MOVES = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "double", "half"})


@lru_cache(maxsize=2)  # asked of every call that a loss goes through
def may_carry(file: File) -> bool:
    """Whether a module that cannot be read may keep a state: the file speaks of such, and it or one beside it has an
    object keep one."""
    if wording.is_variational(file.text):
        return True
    if not wording.is_recurrent(file.text):
        return False
    if wording.carries(file.text) or not os.path.isfile(file.path):
        return True
    texts = file.beside
    return texts is None or any(map(wording.carries, texts))


def forgets(path: str, function: Reading, deep: int = _CALLERS) -> bool:
    """Whether a module is of classes of this project that keep nothing, wherever they are written."""
    scope, file = function.scope, function.file
    if path in scope.parameters and not definitions_of(function).every(path):
        given = [(where, path_of(one) if one is not None else None) for where, one in handed_in(function, path)]
        read = bool(given) and deep > 0
        return read and all(name is not None and forgets(name, where, deep - 1) for where, name in given)
    made = [one.value for one in definitions_of(function).every(path)]
    if path.startswith("self.") and scope.owner is not None:
        made += [one.value for _, one in assigned_by(scope.owner, path, file)]
    elif not made and path not in scope.parameters:
        made += [one.value for one in definitions_of(Reading(file.program.tree, (), scope.module, file)).every(path)]
    names = [name for value in made if (name := _made_by(value)) != path]
    names += [name for value in made for name in _parts_of(value, function)]
    return bool(names) and not any(name is None or remembers(name, scope) for name in names)


def _made_by(value: ast.expr) -> str | None:
    """Net of Net(3).to(device); net of net.cuda()."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    return path_of(value.func) if isinstance(value, ast.Call) else path_of(value)


def _parts_of(value: ast.expr, function: Reading) -> list[str | None]:
    """Encoder of encoder = Encoder(3) and model = Model(encoder): what a module is made with may keep something."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    given = [path_of(one) for one in value.args] if isinstance(value, ast.Call) else []
    top = Reading(function.file.program.tree, (), function.scope.module, function.file)
    every = (definitions_of(function).every(one) or definitions_of(top).every(one) for one in given if one)
    made = [_made_by(one.value) for several in every for one in several if isinstance(one.value, ast.Call)]
    scope = function.scope
    return [name for name in made if name is None or scope.class_scope(scope.dotted(name), derived=True)]


def remembers(name: str, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether a module of this project keeps something from one call to the next, or has a part that may."""
    cls = scope.class_scope(scope.dotted(name), derived=True)
    if cls is None or not depth or any(not base.endswith("Module") for base in cls.bases):
        return True
    for method in cls.functions.values():
        if method.node.name == "__init__":
            if any(isinstance(node, ast.Call) and _may_remember(node, cls, depth) for node in below(method.node)):
                return True
        elif any(isinstance(node, ast.Attribute) and _is_kept(node) for node in below(method.node)):
            return True
    return False


def _is_kept(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and (path_of(node) or "").startswith("self.")


def _may_remember(call: ast.Call, scope: Scope, depth: int) -> bool:
    """What a module is made of: torch's own layers forget, those of this project are read, others may remember."""
    path = path_of(call.func) or ""
    dotted = scope.dotted(path)
    makes = path.rpartition(".")[2][:1].isupper() and dotted.partition(".")[0] != "torch"
    return makes and remembers(dotted, scope, depth - 1)


def hands_state(call: ast.Call) -> bool:
    """model(x, hidden): what it goes on from, it is told."""
    return any(wording.is_state(path_of(one) or "") for one in (*call.args, *(named.value for named in call.keywords)))


def holds_values(value: ast.expr) -> bool:
    """lambda: out.mean(), partial(compare, out)"""
    func = path_of(value.func) or "" if isinstance(value, ast.Call) else ""
    return isinstance(value, ast.Lambda) or func.rpartition(".")[2] == "partial"


def may_have_graphs(function: Function | None) -> bool:
    """Whether a function that fetches data makes leaves of it, or asks a model for it."""
    if function is None:
        return False
    calls = [path_of(node.func) or "" for node in below(function.node) if isinstance(node, ast.Call)]
    asks = any(path.startswith("self.") or wording.is_model(path) or len(path) == 1 for path in calls)
    return asks or "requires_grad" in written(function.node)
