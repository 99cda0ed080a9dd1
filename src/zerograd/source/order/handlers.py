"""A schedule that a handler of ignite's moves where an epoch, or an iteration, begins (ZG301).

@trainer.on(Events.EPOCH_STARTED)
def adjust(engine):
    scheduler.step()            # the optimizer has not stepped before the first epoch

Told of an engine that trains: one that was made with an optimizer in the function around the handler. Silent under any
branch, with an event that is filtered, and wherever such a schedule may be meant to move first (schedules.py).
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.moving import is_old
from zerograd.source.lowering.skeleton import Act
from zerograd.source.names.roles import has_own_schedules
from zerograd.source.names.scopes import Function
from zerograd.source.order.schedules import is_excused
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import File

_STARTS = ("Events.EPOCH_STARTED", "Events.ITERATION_STARTED")


def detect(file: File) -> Iterator[Finding]:
    if not file.says("ignite") or not any(map(file.says, _STARTS)):
        return
    module = file.program.roots.module
    if is_old(module) or file.says(".last_epoch"):
        return
    for one in file.program.roots.functions:
        engine = _engine_of(one)
        if engine is None or not _trains(engine, one, file):
            continue
        for act in file.program.function(one):
            if not isinstance(act, Act) or act.kind is not Kind.SCHEDULE:
                continue
            path, event = act.what.removesuffix(".step()"), Event(act.kind, act.slot or "", act.site, what=act.what)
            guessed = one.scope.lookup(path) is None and has_own_schedules(module)
            if not guessed and not is_excused(event, file, None, one.scope):
                yield note(REGISTRY["ZG301"], act.site, certain=True, what=act.what)


def _engine_of(function: Function) -> str | None:
    """trainer, of @trainer.on(Events.EPOCH_STARTED)"""
    for one in function.node.decorator_list:
        match one:
            case ast.Call(func=ast.Attribute(value=engine, attr="on"), args=[event], keywords=[]):
                return path_of(engine) if (path_of(event) or "").endswith(_STARTS) else None
    return None


def _trains(engine: str, handler: Function, file: File) -> bool:
    """Whether an engine was made around the handler with an optimizer, and nobody steps that before the engine runs."""
    outer = [one for one in file.program.roots.functions if handler.scope.parent is one.scope]
    nodes = file.program.nodes(outer[0].node if outer else file.program.tree)
    made = [one.value for one in nodes.of(ast.Assign) if path_of(one.targets[0]) == engine]
    given = [
        path_of(one) or "" for value in made for part in below(value) if isinstance(part, ast.Call) for one in part.args
    ]
    steps = [
        call for call in nodes.of(ast.Call) if (path_of(call.func) or "").endswith(("optimizer.step", "optim.step"))
    ]
    return len(made) == 1 and any("opt" in one.lower() for one in given) and not steps
