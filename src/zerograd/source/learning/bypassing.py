"""A loss that is computed past DistributedDataParallel: `model.module.loss(x)` instead of `model(x)` (ZG502).

Ranks average a gradient because the wrapper's forward pass told its reducer to expect one. What goes straight to the
module inside tells nobody: every rank steps with its own gradient. The weights inside may be read, saved and evaluated
that way as anyone likes; and a wrapper that is also called, here or by someone it is handed to, may be prepared.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.names.arguments import arguments
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import called, calls_of
from zerograd.source.values.reading import Reading

_WRAPPERS = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")
# Each of these averages gradients itself, or may.
_AVERAGES = ("accelerat", "deepspeed", "fabric", "horovod", "hvd.", "apex", "average_grad", "reduce_grad", "sync_grad")
_ANY_AVERAGE = pattern(r"grad\w*_(all_?)?reduc|all_?reduce\w*_grad|(aggregate|gather|synchroni[sz]e)_grad")
_CUTS = frozenset({"detach", "detach_", "item", "data", "cpu", "numpy", "tolist", "no_grad"})
# What is asked of the module inside without a forward pass: what every nn.Module has, and what tensors have.
_NO_FORWARD = pattern(
    r"(\w*parameters|\w*state_dict|\w*modules|\w*children|\w*buffers|train|eval|to|cuda|cpu|half|float|zero_grad|apply"
    r"|requires_grad_|register_\w+|get_\w*(?<!loss)|set_\w+|update\w*|reset\w*|save\w*|load\w*|freeze\w*|clip\w*"
    r"|norm|sum|mean|pow|abs|size|item|clone|detach|dim|numel|copy_)"
)
_LOOKS_ON = pattern(r"eval|valid|test|save|sampl|log|print|count|ema|state|len|isinstance|hasattr")
_KEEPS = ("to", "cuda", "train", "float")
_DEPTH = 3
_CURE = "call the wrapper itself, with a forward() that computes the loss"


def detect(function: Reading) -> Iterator[Finding]:
    file = function.file
    if not file.says(".module") or not file.says("DistributedDataParallel") or any(map(file.says, _AVERAGES)):
        return
    by_hand = file.reads_gradients and (file.says("all_reduce") or file.says("all_gather"))
    past = [] if by_hand else list(_past(function))
    for wrapper, call in past if past and not _ANY_AVERAGE.search(file.text) else ():
        if _trains(function, call) and not _is_used(function, wrapper) and _is_wrapped(wrapper, function, _DEPTH):
            test = f"{written(call.func)}(), which goes past DistributedDataParallel,"
            yield note(REGISTRY["ZG502"], function.site(call), certain=True, test=test)._replace(cure=_CURE)


def _past(function: Reading) -> Iterator[tuple[str, ast.Call]]:
    """The forward passes of modules inside wrappers: model.module(x), self.net.module.loss(x), bare(model).loss(x)."""
    named: dict[str, set[str | None]] = {}
    for node in function.of(ast.Assign):
        for path in _targets(node):
            named.setdefault(path, set()).add(_wrapper_of(node.value, function))
    others = {path: wrappers.pop() for path, wrappers in named.items() if len(wrappers) == 1 and path not in wrappers}
    for call in function.of(ast.Call):
        part: ast.expr = call.func
        while isinstance(part, ast.Attribute) and path_of(part) not in others and part.attr != "module":
            part = part.value
        wrapper = others.get(path_of(part) or "") or _wrapper_of(part, function)
        last = call.func.attr if isinstance(call.func, ast.Attribute) and call.func is not part else ""
        if wrapper is not None and not _NO_FORWARD.fullmatch(last) and not function.without_grad(call):
            yield wrapper, call


def _wrapper_of(node: ast.expr, function: Reading, deep: bool = True) -> str | None:
    """Of whom this is the module inside: model.module, getattr(model, "module", model), unwrap(model)."""
    match node:
        case ast.Attribute(value=wrapper, attr="module"):
            return path_of(wrapper)
        case ast.IfExp(body=one, orelse=other):
            return _wrapper_of(one, function, deep) or _wrapper_of(other, function, deep)
        case ast.Call(func=ast.Name(id="getattr"), args=[wrapper, ast.Constant(value="module"), *_]):
            return path_of(wrapper)
        case ast.Call(func=ast.Name(id=name), args=[given], keywords=[]) if deep:
            callee = called(name, function.scope)
            if callee is not None and len(callee.node.args.args) == 1:
                inside = Reading(callee.node, (), callee.scope, function.file)
                backs = (_wrapper_of(back.value, inside, False) for back in inside.of(ast.Return) if back.value)
                return path_of(given) if callee.node.args.args[0].arg in backs else None
    return None


def _trains(function: Reading, call: ast.Call) -> bool:
    """Whether what a call returns is in a loss that is deposited, with its graph."""
    reached = {path for node in function.of(ast.Assign) if _holds(node.value, call, set()) for path in _targets(node)}
    grows = True
    while grows:
        found = {
            path for node in function.of(ast.Assign) if _holds(node.value, call, reached) for path in _targets(node)
        }
        grows, reached = not found <= reached, reached | found
    losses = (loss_of(act.node) for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call))
    return any(loss is not None and _holds(loss, call, reached) for loss in losses)


def _targets(node: ast.Assign) -> Iterator[str]:
    for target in node.targets:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            path = path_of(part)
            if path is not None:
                yield path


def _holds(value: ast.expr, call: ast.Call, reached: set[str]) -> bool:
    parts = below(value)
    if any(isinstance(part, ast.Attribute) and part.attr in _CUTS for part in parts):
        return False
    return any(
        part is call or (isinstance(part, ast.Name | ast.Attribute) and path_of(part) in reached) for part in parts
    )


def _is_used(function: Reading, wrapper: str) -> bool:
    """Whether the wrapper's own forward pass may run here, closures and those it is handed to included."""
    dropped = {node.value for node in function.of(ast.Expr)}
    for part in below(function.node):
        if not isinstance(part, ast.Call):
            continue
        path = path_of(part.func) or ""
        if path in (wrapper, f"{wrapper}.forward", f"{wrapper}.__call__"):
            return True
        handed = any(path_of(one) == wrapper for one in (*part.args, *(keyword.value for keyword in part.keywords)))
        looks_on = part in dropped or _LOOKS_ON.search(path.lower()) or _is_kept(part, wrapper)
        looks_on = looks_on or _wrapper_of(part, function) == wrapper
        if handed and not looks_on and function.scope.dotted(path) not in _WRAPPERS:
            return True
    return False


def _is_wrapped(name: str, where: Reading, depth: int) -> bool:
    """Whether DistributedDataParallel is what a path names: made here, in its class, or by one who hands it in."""
    made = [node.value for node in where.of(ast.Assign) if name in _targets(node)]
    if any(isinstance(one, ast.Call) and where.scope.dotted(path_of(one.func) or "") in _WRAPPERS for one in made):
        return True
    if not all(_is_kept(one, name) for one in made):
        return False
    if name not in where.scope.parameters:
        binding = where.scope.lookup(name) if not made else None
        return binding is not None and binding.made_by in _WRAPPERS
    for caller, call in calls_of(where) if depth else ():
        function = called(path_of(call.func) or "", caller.scope)
        if function is None or function.node is not where.node:
            continue
        given = next((value for parameter, value in arguments(call, function) if parameter == name), None)
        path = path_of(given) if given is not None else None
        if path is not None and _is_wrapped(path, caller, depth - 1):
            return True
    return False


def _is_kept(value: ast.expr, name: str) -> bool:
    """model.to(device), torch.compile(model): the same wrapper."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _KEEPS and path_of(inner) == name:
            return True
        case ast.Call(func=func, args=[first, *_]):
            return path_of(func) == "torch.compile" and path_of(first) == name
    return False
