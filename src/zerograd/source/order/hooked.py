"""Gradients that hooks clip while the loss scale is still in them (ZG201).

for p in model.parameters(): p.register_hook(lambda grad: grad.clamp(-1, 1))

A hook sees what backward() computes, before anyone can unscale it. Where the loss is scaled, the bound is one for
gradients that are thousands of times too large: what is left of it behind the step is the bound over the scale.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.text.nodes import holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import called, calls_of
from zerograd.source.values.reading import Reading

_CLIPS = frozenset({"clamp", "clip", "clamp_", "clip_"})
_DEPTH = 3
_CURE = "clip between scaler.unscale_(optimizer) and the step, not in a hook"


def detect(function: Reading) -> Iterator[Finding]:
    """Those of the function that deposits a scaled loss, of those who call it, and of the object that it belongs to."""
    file = function.file
    scaled = [act for act in function.having(Kind.DEPOSIT) if act.scaled]
    if not scaled or not file.says("register_hook") or file.says("get_scale"):
        return
    alone = len({act.slot for act in function.having(Kind.CONSUME)}) == 1
    used = {name for call in function.of(ast.Call) for name in (path_of(call.func) or "").split(".")}
    for where in _around(function, _DEPTH) if alone else ():
        for model, call in _clipping(where):
            if model.rpartition(".")[2] not in used:
                continue
            related = (Related(scaled[0].site, "a scaled loss is deposited here"),)
            found = note(
                REGISTRY["ZG201"], where.site(call), certain=True, related=related, clip=f"{written(call.func)}()"
            )
            yield found._replace(cure=_CURE)


def _around(function: Reading, depth: int) -> Iterator[Reading]:
    yield function
    cls = function.scope.owner
    made = cls.functions.get("__init__") if cls is not None else None
    if made is not None and made.node is not function.node:
        yield Reading(made.node, (), made.scope, function.file)
    for caller, call in calls_of(function) if depth else ():
        callee = called(path_of(call.func) or "", caller.scope)
        if callee is not None and callee.node is function.node:
            yield from _around(caller, depth - 1)


def _clipping(function: Reading) -> Iterator[tuple[str, ast.Call]]:
    """for p in model.parameters(): p.register_hook(...), of all of them: the model, and the call"""
    for call in function.of(ast.Call):
        match call, function.loop_around(call):
            case (
                ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="register_hook"), args=[hook]),
                ast.For(
                    target=ast.Name(id=each), iter=ast.Call(func=ast.Attribute(value=model, attr="parameters"))
                ) as loop,
            ) if each == name and _clips(hook):
                asked = [branch.test for branch, _ in function.arms(call) if holds(loop, branch)]
                if all(path_of(test) == f"{name}.requires_grad" for test in asked):
                    yield path_of(model) or "", call


def _clips(hook: ast.expr) -> bool:
    """lambda grad: torch.clamp(grad, -1, 1), grad.clip(-c, c)"""
    match hook:
        case ast.Lambda(
            args=ast.arguments(args=[ast.arg(arg=grad)]), body=ast.Call(func=ast.Attribute() as func) as body
        ):
            given = body.args[0] if body.args and path_of(func.value) == "torch" else func.value
            return func.attr in _CLIPS and path_of(given) == grad and "scale" not in written(body)
    return False
