"""DistributedDataParallel settles in forward() whether the ranks will talk in backward(): what is said between the two
comes too late.

loss = model(x).mean()
model.require_backward_grad_sync = last  # ZG502: this group's last micro-batch was prepared by the one before
loss.backward()

loss = model(x).mean()
with model.no_sync():  # ZG501: without effect, forward() stands outside
    loss.backward()

Both were run on two ranks: after the first they hold different gradients, in the second every micro-batch is averaged.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading

_FLAG = "require_backward_grad_sync"
_DEPOSITS = frozenset({"backward", "scale"})  # all that is called where a block does nothing but go backward
_LISTENS = ("fsdp", "FSDP", "FullyShardedDataParallel", "fully_shard", "deepspeed")  # these ask again in backward()


def detect(function: Reading) -> Iterator[Finding]:
    if function.file.says(_FLAG):
        yield from _said_late(function)
    if function.file.says("no_sync") and function.file.says("DistributedDataParallel"):
        yield from _around_backward_alone(function)


def _said_late(function: Reading) -> Iterator[Finding]:
    for node in function.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=owner, attr=attr)]) if attr == _FLAG:
                before, after = _passes(function, path_of(owner), node)
                deposits = [act for act in function.having(Kind.DEPOSIT) if _is_behind(function, act.node, node)]
                if before and not after and deposits:
                    related = (Related(function.site(before[-1]), "forward() has asked already"),)
                    told = note(
                        REGISTRY["ZG502"], function.site(node), certain=True, related=related, test=written(node)
                    )
                    yield told._replace(cure=f"set {_FLAG} before the forward pass")


def _around_backward_alone(function: Reading) -> Iterator[Finding]:
    """`with model.no_sync(): loss.backward()`, of a pass that ran before."""
    if any(map(function.file.says, _LISTENS)):
        return
    for node in function.of(ast.With):
        wrappers = [path for item in node.items for path in _silenced(item.context_expr)]
        calls = [part for one in node.body for part in below(one) if isinstance(part, ast.Call)]
        names = {_last(call.func) for call in calls}
        if len(wrappers) != 1 or "backward" not in names or not names <= _DEPOSITS:
            continue
        before, after = _passes(function, wrappers[0], node)
        if before and not after:
            deposit = next(call for call in calls if _last(call.func) == "backward")
            related = (Related(function.site(before[-1]), "forward() stands outside, and settles it"),)
            told = {"deposit": f"{written(deposit.func)}()", "size": "a group"}
            yield note(REGISTRY["ZG501"], function.site(deposit), certain=True, related=related, **told)._replace(
                cure=f"run the forward pass under {wrappers[0]}.no_sync() too"
            )


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else ""


def _silenced(context: ast.expr) -> Iterator[str]:
    """`model`, of model.no_sync() and of model.no_sync() if waits else nullcontext()"""
    for part in below(context):
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr="no_sync")) if (path := path_of(value)) is not None:
                yield path


def _passes(function: Reading, module: str | None, node: ast.stmt) -> tuple[list[ast.Call], list[ast.Call]]:
    """The calls of a module in the same iteration, those before a statement and those behind its beginning."""
    calls = [call for call in function.of(ast.Call) if module is not None and path_of(call.func) == module]
    loop = function.loop_around(node)
    inside = [call for call in calls if loop is not None and holds(loop, call)]
    before = [call for call in inside if call.lineno < node.lineno and not function.without_grad(call)]
    return before, [call for call in inside if call.lineno >= node.lineno]


def _is_behind(function: Reading, deposit: ast.AST | None, node: ast.stmt) -> bool:
    return (
        isinstance(deposit, ast.Call)
        and deposit.lineno > node.lineno
        and function.loop_around(deposit) is function.loop_around(node)
    )
