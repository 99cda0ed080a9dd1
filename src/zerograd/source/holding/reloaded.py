"""Models that are loaded as a whole when the optimizer is there already, made by somebody else (ZG010).

def fit(model, optimizer, resume):            self.optimizer = SGD(self.model.parameters())      in __init__
    if resume:                                ...
        model = Model.from_pretrained(p)      self.model = Checkpoint.load(p).model              in train()
    train(model, optimizer)                   self.train_epoch()

What was made before cannot hold what is made now. Certain where the training follows in the same call, and where the
optimizer is seen to be that of the model: it was given its parameters, or the model is the one module that is trained.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Block, Call, walk
from zerograd.source.names.arguments import arguments
from zerograd.source.names.opaque import names_class
from zerograd.source.names.probes import called_modules
from zerograd.source.names.roles import makes_optimizer, modules_of
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import Nodes, below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import ENDINGS
from zerograd.source.values.callers import called
from zerograd.source.values.reading import File, Reading

_LOADERS = ("load", "from_pretrained")
_PARTS = (ast.Call, ast.Attribute, ast.Subscript)  # of what was loaded, or that itself
_DEPTH = 3
# By these an optimizer is given other parameters, or is another one.
_REMAKES = ("add_param_group", "optimizer.__init__(", '["params"]', "['params']", "setattr(")
_GROUPS = ("add_param_group", "param_groups")
_MOVED = frozenset({"to", "cuda", "cpu", "train", "half", "float"})


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("load") and not function.file.says("from_pretrained"):
        return
    if not function.scope.parameters and function.scope.owner is None:
        return
    for change in function.of(ast.Assign):
        target = change.targets[0]
        if isinstance(target, ast.Name) and target.id not in function.scope.parameters:
            continue  # most of them
        if not isinstance(change.value, _PARTS):
            continue
        model = path_of(target) if len(change.targets) == 1 else None
        if model is None or not (model.startswith("self.") or model in function.scope.parameters):
            continue
        if not _is_loaded(change.value, model, function) or _is_put_back(model, change, function):
            continue
        found: Iterator[tuple[str, str, tuple[Related, ...]]] = iter(())
        if model in function.scope.parameters:
            found = ((optimizer, "by the caller", ()) for optimizer in _handed(function, model, change))
        else:
            found = _kept(function, model, change)
        for optimizer, made, related in found:
            names = {"what": written(change), "model": model, "optimizer": optimizer, "made": made}
            yield note(REGISTRY["ZG010"], function.site(change), certain=True, related=related, **names)
            break


def _is_put_back(model: str, change: ast.Assign, function: Reading) -> bool:
    """self.model = torch.load(path); compare(self.model); self.model = kept"""
    stores: list[ast.Name | ast.Attribute] = [*function.of(ast.Name), *function.of(ast.Attribute)]
    again = [one for one in stores if isinstance(one.ctx, ast.Store) and path_of(one) == model]
    return any(place(one) > place(change) and not function.excludes(one, change) for one in again)


def _is_loaded(value: ast.expr, model: str, function: Reading) -> bool:
    """torch.load(path), Model.from_pretrained(path).to(device), and a part of what was loaded so: checkpoint.model."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVED:
        value = value.func.value
    whole = value
    while isinstance(whole, ast.Attribute | ast.Subscript):
        whole = whole.value
    if isinstance(whole, ast.Name) and whole is not value:
        made = [one.value for one in function.of(ast.Assign) if any(path_of(t) == whole.id for t in one.targets)]
        whole = made[0] if len(made) == 1 and not function.scope.parameters.count(whole.id) else whole
    if not isinstance(whole, ast.Call) or any((path_of(part) or "").startswith(model) for part in below(whole)):
        return False  # what is handed the model may give it back
    owner, _, last = function.scope.dotted(path_of(whole.func) or "").rpartition(".")
    return last.startswith(_LOADERS) and (names_class(owner, function.scope) or (owner, last) == ("torch", "load"))


def _handed(function: Reading, model: str, change: ast.Assign) -> Iterator[str]:
    """The optimizer that a function is handed with the model, and trains it with."""
    if any(makes_optimizer(call, function.scope) for call in function.of(ast.Call)):
        return
    for optimizer in function.scope.parameters:
        stored = (node for node in function.of(ast.Name) if node.id == optimizer and isinstance(node.ctx, ast.Store))
        if optimizer == model or any(stored) or _regroups(function.nodes, optimizer):
            continue
        steps = [act.node for act in function.having(Kind.CONSUME) if act.slot == optimizer and act.node is not None]
        trained = is_trained(function.nodes, function.scope, function.block, model, optimizer)
        if trained and any(follows(function, change, node, optimizer) for node in steps):
            yield optimizer
        for call in function.of(ast.Call):
            callee = called(path_of(call.func) or "", function.scope)
            given = {path_of(value): name for name, value in arguments(call, callee)} if callee is not None else {}
            if callee is None or not {model, optimizer} <= given.keys():
                continue
            if not follows(function, change, call, optimizer):
                continue
            program = function.file.program
            nodes, block = program.nodes(callee.node), program.body_of(callee)
            if is_trained(nodes, callee.scope, block, given[model], given[optimizer]):
                yield optimizer


def is_trained(nodes: Nodes, scope: Scope, block: Block, model: str, optimizer: str) -> bool:
    """Whether the loss goes through this model alone, which is set to train or clipped, and this optimizer steps."""
    acts = [act for act in walk(block) if isinstance(act, Act)]
    stepped = {act.slot for act in acts if act.kind is Kind.CONSUME}
    if stepped != {optimizer} or not any(act.kind is Kind.DEPOSIT for act in acts) or _regroups(nodes, optimizer):
        return False
    meant = any(
        path_of(call.func) == f"{model}.train"
        or ((path_of(call.func) or "").rpartition(".")[2].startswith("clip_grad_") and _names(call, model))
        for call in nodes.of(ast.Call)
    )
    anew = any(makes_optimizer(call, scope) or _is_given(call, optimizer) for call in nodes.of(ast.Call))
    return meant and not anew and called_modules(nodes, scope) == {model}


def _names(call: ast.Call, model: str) -> bool:
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "parameters")]
    return any(model in modules_of(one) for one in given)


def _regroups(nodes: Nodes, optimizer: str) -> bool:
    return any(path_of(node) == f"{optimizer}.{name}" for name in _GROUPS for node in nodes.of(ast.Attribute))


def _kept(function: Reading, model: str, change: ast.Assign) -> Iterator[tuple[str, str, tuple[Related, ...]]]:
    """The optimizers that __init__ made for the model, and that this method steps later on."""
    cls = function.scope.owner
    for optimizer, node in made_with(function, model, cls) if cls is not None else ():
        if cls is not None and is_stepped(function, model, optimizer, change, cls):
            related = Related(function.site(node), "gives the optimizer its parameters")
            yield optimizer, f"on line {node.lineno}", (related,)


def made_with(method: Reading, model: str, cls: Scope) -> Iterator[tuple[str, ast.Assign]]:
    """The optimizers that __init__ made for the model, once and for all."""
    file = method.file
    init = cls.functions.get("__init__")
    if init is None or init.node is method.node or any(map(file.says, _REMAKES)):
        return
    for node in file.program.nodes(init.node).of(ast.Assign):
        optimizer = path_of(node.targets[0]) or ""
        match node.value:
            case ast.Call(args=[given, *_]) as call if makes_optimizer(call, init.scope):
                held = any(path == model or path.startswith(f"{model}.") for path in modules_of(given))
                once = [one.node for one in file.stores(cls, optimizer)] == [init.node]
                if optimizer.startswith("self.") and held and once and not grows(cls, file):
                    yield optimizer, node


def grows(cls: Scope, file: File) -> bool:
    """Whether a class, of whatever file, gives its optimizers other parameters."""
    methods = (method for one in cls.lineage() for method in one.functions.values())
    nodes = (node for method in methods for node in file.program.nodes(method.node).of(ast.Attribute))
    return any(node.attr == "add_param_group" for node in nodes)


def is_stepped(function: Reading, model: str, optimizer: str, change: ast.AST, cls: Scope) -> bool:
    """Whether the method, or one that it calls, steps behind the change where it uses the model."""
    steps = [act.node for act in function.having(Kind.CONSUME) if act.slot == optimizer and act.node is not None]
    if any(follows(function, change, node, optimizer) for node in steps) and _uses(function.nodes, model):
        return True
    for call in function.of(ast.Call):
        path = path_of(call.func) or ""
        method = cls.method(path.removeprefix("self.")) if path.startswith("self.") else None
        if method is not None and follows(function, change, call, optimizer):
            reached = list(_reached(method, function, _DEPTH))
            if any(_hands(one, optimizer) for nodes, _ in reached for one in nodes.of(ast.Call)):
                continue  # renew(self)
            if any(optimizer in slots for _, slots in reached) and any(_uses(nodes, model) for nodes, _ in reached):
                return True
    return False


def _reached(method: Function, function: Reading, depth: int) -> Iterator[tuple[Nodes, set[str | None]]]:
    """The methods of the same object that one runs: the nodes of each, and what it steps."""
    program = function.file.program
    parts = list(walk(program.body_of(method)))
    steps = {part.slot for part in parts if isinstance(part, Act) and part.kind is Kind.CONSUME}
    yield program.nodes(method.node), steps
    for part in parts if depth else ():
        if isinstance(part, Call) and part.shares_self:
            yield from _reached(part.function, function, depth - 1)


def _uses(nodes: Nodes, model: str) -> bool:
    """model(x), model.part(x), model.train(): a module is what it is taken for."""
    return any(f"{path_of(call.func)}.".startswith(f"{model}.") for call in nodes.of(ast.Call))


def follows(function: Reading, change: ast.AST, node: ast.AST, optimizer: str) -> bool:
    """Whether a node runs behind the change in the same call: no branch of its own around it, no way out before, and
    nobody who is handed the optimizer in between and may give it the new parameters."""
    if place(node) <= place(change) or function.excludes(change, node):
        return False
    if not all(holds(branch, change) for branch, _ in function.arms(node)):
        return False
    ways: list[ast.AST] = [*function.of(ast.Return), *function.of(ast.Continue), *function.of(ast.Break)]
    ways += [call for call in function.of(ast.Call) if path_of(call.func) in ENDINGS or _hands(call, optimizer)]
    return not any(place(change) < place(way) < place(node) for way in ways if not holds(way, node))


def _hands(call: ast.Call, optimizer: str) -> bool:
    """Whether it is handed on, with or without the object that it is an attribute of."""
    owned = optimizer.startswith("self.") and any(path_of(given) == "self" for given in call.args)
    return owned or _is_given(call, optimizer)


def _is_given(call: ast.Call, optimizer: str) -> bool:
    """reset(optimizer, model), optimizer.set_parameters(model.parameters())"""
    if (path_of(call.func) or "").startswith(f"{optimizer}."):
        return any("param" in written(argument) for argument in call.args)
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(path_of(part) == optimizer for argument in given for part in below(argument))
