"""Modules that go on from the state that their last forward pass has left in them, with its graph (ZG402).

def forward(self, x):                                       for x, y in loader:
    out, self.hidden = self.lstm(x, self.hidden)                loss = criterion(model(x), y)
    return self.head(out)                                       loss.backward(retain_graph=True)
                                                                optimizer.step()

Silent where the class lets go of a graph anywhere, or where anything in the loop may set the state anew.
"""

import ast
from collections.abc import Iterator

from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.incoming import KEPT
from zerograd.source.memory.keeping import heirs
from zerograd.source.memory.passes import others, through
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.values.automatic import is_known
from zerograd.source.values.instances import class_of
from zerograd.source.values.reading import LoopNode, Reading

_CUTS = frozenset({"detach", "detach_", "data", "no_grad", "zero_", "inference_mode"})
_FEW = 6  # calls that a loss goes through


def remembered_by(function: Reading, call: ast.Call) -> tuple[ast.Call, str] | None:
    """The pass of a module that a backward() goes through, and the state which that goes on from."""
    loop, loss = function.loop_around(call), through(call)
    if loop is None or loss is None or not function.file.says("hidden") or any(others(function, call)):
        return None
    mine = Ancestry(function).of(loss)
    passes = [one for one in mine if isinstance(one, ast.Call)]
    if len(passes) > _FEW or not all(one == KEPT if isinstance(one, str) else holds(loop, one) for one in mine):
        return None
    for one in passes:
        path = path_of(one.func) or ""
        cls = class_of(function, path) if path else None
        state = _state_of(cls) if cls is not None else None
        if cls is not None and state is not None:
            return (one, f"{path}.{state}") if not _is_set(function, loop, path, cls, state) else None
    return None


def _state_of(cls: Scope) -> str | None:
    """hidden of out, self.hidden = self.lstm(x, self.hidden), if nothing in the class cuts a graph."""
    forward = cls.method("forward")
    methods = list(_methods(cls))
    if forward is None or not is_known(cls) or heirs(cls) or cls.method("__call__") or forward.node.decorator_list:
        return None
    attributes = [part for one in methods for part in Nodes(one).of(ast.Attribute)]
    if any(part.attr in _CUTS for part in attributes):
        return None
    nodes = Nodes(forward.node)
    stored = [part.attr for part in nodes.of(ast.Attribute) if isinstance(part.ctx, ast.Store)]
    called = {(path_of(one.func) or "").removeprefix("self.") for one in nodes.of(ast.Call)}
    for node in forward.node.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[_, target])], value=ast.Call() as call):
                state = path_of(target) or ""
                given = any(path_of(one) == state for one in call.args)
                name = state.removeprefix("self.")
                if given and name.isidentifier() and state != name and stored.count(name) == 1:
                    return name if not any(_sets(one, name) for one in methods if one.name in called) else None
    return None


def _methods(cls: Scope) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (one.node for base in cls.lineage() for one in base.functions.values())


def _sets(method: ast.AST, name: str) -> bool:
    parts = (part for part in below(method) if isinstance(part, ast.Attribute))
    return any(part.attr == name and isinstance(part.ctx, ast.Store) for part in parts)


def _is_set(function: Reading, loop: LoopNode, path: str, cls: Scope, state: str) -> bool:
    """model.hidden = model.init_hidden(), model.reset(), begin(model): in the loop, by whatever it calls."""
    if any(part.attr == state for part in function.of(ast.Attribute) if holds(loop, part)):
        return True
    setting = {one.name for one in _methods(cls) if _sets(one, state)} - {"forward"}
    calls = [one for one in function.of(ast.Call) if holds(loop, one)]
    named = {getattr(one.func, "attr", "") for one in calls}
    handed = any(path_of(given) == path for one in calls for given in one.args)
    return handed or not named.isdisjoint(setting)
