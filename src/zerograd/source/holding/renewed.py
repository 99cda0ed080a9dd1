"""Networks that an object replaces by new ones, and trains with the optimizer that it had before (ZG010).

self.network, self.optimizer = network, optimizer          in __init__
...
self.network = copy.deepcopy(self.original)                in prune()
train(self.network, self.loader, self.optimizer)           later in the same call

What is made now cannot be held by what was there before. Certain where the training follows in the same call, and where
the optimizer is seen to be that of the network; silent where the optimizer may be given the new parameters.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.holding.reloaded import follows, grows, is_stepped, is_trained, made_with
from zerograd.source.names.arguments import arguments
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import called
from zerograd.source.values.copies import makes_module
from zerograd.source.values.reading import Reading

_FEW = 12  # changes that are looked at in one method
_GROUPS = ("add_param_group", "param_groups")


def detect(function: Reading) -> Iterator[Finding]:
    cls = function.scope.owner
    if cls is None or getattr(function.node, "name", "") == "__init__" or any(map(function.file.says, _GROUPS)):
        return
    changes = [node for node in function.of(ast.Assign) if isinstance(node.value, ast.Call) and _kept(node)]
    if not changes or any(makes_optimizer(call, function.scope) for call in function.of(ast.Call)):
        return
    for change in changes[:_FEW]:
        model = path_of(change.targets[0]) or ""
        made = _held(function, model, cls, change)
        whole = any(path_of(part) == model for part in below(change.value))  # Wrapper(self.model) has its parameters
        if made is None or whole or not makes_module(change.value, function):
            continue
        optimizer, node = made
        related = (Related(function.site(node), "creates the optimizer"),)
        names = {"what": written(change), "model": model, "optimizer": optimizer, "made": f"on line {node.lineno}"}
        yield note(REGISTRY["ZG010"], function.site(change), certain=True, related=related, **names)


def _kept(node: ast.Assign) -> bool:
    path = path_of(node.targets[0]) if len(node.targets) == 1 else None
    return path is not None and path.startswith("self.") and path.count(".") == 1 and "[" not in path


def _held(function: Reading, model: str, cls: Scope, change: ast.Assign) -> tuple[str, ast.Assign] | None:
    """The optimizer that trains the model behind the change, and where the object got it."""
    for optimizer, node in made_with(function, model, cls):
        if is_stepped(function, model, optimizer, change, cls):
            return optimizer, node
    for optimizer, node in _handed(function, model, cls):
        if any(
            follows(function, change, call, optimizer) and _trains(call, function.scope, function, model, optimizer)
            for call in function.of(ast.Call)
        ):
            return optimizer, node
    return None


def _handed(function: Reading, model: str, cls: Scope) -> Iterator[tuple[str, ast.Assign]]:
    """What __init__ is given beside the model, and keeps for good."""
    file, init = function.file, cls.functions.get("__init__")
    given: dict[str, ast.Assign] = {}
    for node in file.program.nodes(init.node).of(ast.Assign) if init is not None else ():
        if init is not None and _kept(node) and path_of(node.value) in init.scope.parameters:
            given[path_of(node.targets[0]) or ""] = node
    for path, node in given.items() if model in given and not grows(cls, file) else ():
        once = init is not None and [one.node for one in file.attributes(cls).get(path, [])] == [init.node]
        if path != model and once and "opt" in path.lower():
            yield path, node


def _trains(call: ast.Call, scope: Scope, function: Reading, model: str, optimizer: str) -> bool:
    """Whether a call trains this model with this optimizer: it is handed both, or it is a method that does so."""
    callee = called(path_of(call.func) or "", scope)
    if callee is None:
        return False
    if _is_handed(call, callee, function, model, optimizer):
        return True
    method = path_of(call.func) == f"self.{callee.node.name}"
    nodes = function.file.program.nodes(callee.node)
    if not method:
        return False
    inner = nodes.of(ast.Call)
    handed = any(
        one is not None and _is_handed(its, one, function, model, optimizer)
        for its in inner
        if (one := called(path_of(its.func) or "", callee.scope)) is not None
    )
    block = function.file.program.body_of(callee)
    return handed or is_trained(nodes, callee.scope, block, model, optimizer)


def _is_handed(call: ast.Call, callee: Function, function: Reading, model: str, optimizer: str) -> bool:
    given = {path_of(value): name for name, value in arguments(call, callee)}
    if not {model, optimizer} <= given.keys():
        return False
    program = function.file.program
    nodes, block = program.nodes(callee.node), program.body_of(callee)
    return is_trained(nodes, callee.scope, block, given[model], given[optimizer])
