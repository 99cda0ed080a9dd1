"""What a loop runs over, and what cuts it into windows: counters, and Accelerate's own gate."""

import ast
from collections.abc import Collection, Iterator

from zerograd.source.counting.counters import read_guard
from zerograd.source.counting.origins import Origins
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, below, holds, written
from zerograd.source.text.paths import path_of

_STEPS = frozenset({"step", "optimize", "zero_grad"})
_EVENTS = _STEPS | {"backward", "unscale_", "clip_grad_norm_", "clip_grad_value_", "grad"}
_BRANCHES = (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.While)
_ASKING = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Name)


def elements(target: ast.expr, over: ast.expr) -> dict[str, str]:
    """`for opt in opts`: {"opt": "opts[*]"}; through enumerate, zip, items and values.

    What runs over something that is no plain collection gets a name of its own.
    """
    match target, over:
        case _, ast.Call(func=ast.Attribute(value=inner, attr="values")):
            return elements(target, inner)
        case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Attribute(value=inner, attr="items")):
            return elements(value, inner)
        case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return elements(value, inner)
        case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=sources):
            found: dict[str, str] = {}
            for part, source in zip(parts, sources, strict=False):
                found |= elements(part, source)
            return found
        case ast.Name(id=name), _:
            return {name: f"{path_of(over) or name}[*]"}
        case ast.Tuple(elts=parts), _:
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            return {name: f"{path_of(over) or ''}[*].{name}" for name in names}
    return {}


def picked(loop: ast.AST, variables: Collection[str]) -> Iterator[str]:
    """`opts[*]` of `opts[i]`, where `i` is a variable of the loop."""
    for node in below(loop):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id in variables:
            path = path_of(node)
            if path is not None:
                yield path


def windows_of(nodes: Nodes, origins: Origins, scope: Scope) -> frozenset[tuple[ast.AST | None, str]]:
    """The counters, by loop and N, that decide whether something is stepped, here or in what is called."""
    if not origins.asked:
        return frozenset()
    asked: list[ast.expr] = [one.value for one in nodes.of(ast.keyword) if isinstance(one.value, _ASKING)]
    found = [guard for test in asked if (guard := read_guard(test, origins)) is not None]
    guarded = [(node, guard) for node in nodes.of(ast.If) if (guard := read_guard(node.test, origins)) is not None]
    steps = [call for call in nodes.of(ast.Call) if getattr(call.func, "attr", "") in _STEPS] if guarded else []
    for node, guard in guarded:
        if any(holds(node, step) for step in steps):
            found.append(guard)
        elif isinstance(node.body[-1], ast.Continue):
            found += [guard] if guard.accumulates else []
        elif any(_steps_by_call(part, scope) for part in below(node) if isinstance(part, ast.Call)) and _is_plain(
            guard.loop, origins, scope
        ):
            found.append(guard)
    return frozenset((guard.loop, guard.size) for guard in found)


def _steps_by_call(call: ast.Call, scope: Scope) -> bool:
    """self.finish_update(), a method that steps."""
    path = path_of(call.func)
    called = scope.function(path) if path is not None else None
    return called is not None and any(isinstance(part, ast.Call) and _is_step(part) for part in below(called.node))


def _is_plain(loop: ast.AST | None, origins: Origins, scope: Scope) -> bool:
    """Whether what a loop calls asks nothing where it does something to gradients, but for what it is told of the place
    in the window: micro(x, last=i % N == 0). What else it asks there may be the place by another name."""
    for call in (part for part in below(loop) if isinstance(part, ast.Call)) if loop is not None else ():
        called = scope.function(path_of(call.func) or "")
        if called is None:
            continue
        told = {name for name, given in arguments(call, called) if read_guard(given, origins) is not None}
        branches = [part for part in below(called.node) if isinstance(part, _BRANCHES) and not _asks_only(part, told)]
        if any(getattr(part, "attr", "") in _EVENTS for branch in branches for part in below(branch)):
            return False
    return True


def _asks_only(branch: ast.AST, told: set[str]) -> bool:
    """if last:, if not last:"""
    test = branch.test if isinstance(branch, ast.If) else None
    asked = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return isinstance(asked, ast.Name) and asked.id in told


def _is_step(call: ast.Call) -> bool:
    """optimizer.step(), scaler.step(optimizer); not controller.step(score)"""
    return getattr(call.func, "attr", "") in _STEPS and (not call.args or "opt" in written(call).lower())


def accumulates(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and (path_of(context.func) or "").endswith(".accumulate")


def has_gate(loop: ast.AST) -> bool:
    return any(isinstance(inner, ast.withitem) and accumulates(inner.context_expr) for inner in below(loop))


def inside(loop: ast.AST) -> Iterator[ast.AST]:
    return (node for node in below(loop) if node is not loop)


def goes_over_part(name: str, nodes: Nodes) -> bool:
    """for p in model.backbone.parameters(): those of a part."""
    for loop in nodes.of(ast.For):
        match loop:
            case ast.For(
                target=ast.Name(id=variable),
                iter=ast.Call(func=ast.Attribute(value=model, attr="parameters" | "named_parameters")),
            ) if variable == name and _is_part(model):
                return True
    return False


def _is_part(model: ast.expr) -> bool:
    return "." in (path_of(model) or ".").removeprefix("self.")
