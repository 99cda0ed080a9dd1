"""A schedule of an optimizer that never steps, because who trains makes one for itself (ZG301).

optimizer = Adam(model.parameters())
scheduler = StepLR(optimizer, 10)
for epoch in range(100):
    train(model, loader)        # optimizer = Adam(model.parameters()), in there
    scheduler.step()            # moves a rate that nobody uses

Silent where anything else is done with the optimizer, or where the schedule is asked for its rate: to draw it, or to
hand it on.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Block, Call, Create, Loop, walk
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.nodes import below, parents_of
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading

_MESSAGE = "{what} moves the schedule of {optimizer}, which never steps: {other} trains with an optimizer of its own"
_CURE = "hand the optimizer to the function that trains, instead of making another one there"
_IDLE = frozenset({"zero_grad", "load_state_dict"})  # what is asked of an optimizer without a step
_SPACES = ("locals()", "globals()", "vars()")  # whoever has them has every name in them


def detect(function: Reading) -> Iterator[Finding]:
    scope = function.scope
    for loop in function.parts(Loop):
        moves = [act for act in walk(loop.body) if isinstance(act, Act) and act.kind is Kind.SCHEDULE and act.slot]
        trains = [call for call in walk(loop.body) if isinstance(call, Call) and _has_its_own(call, function)]
        for move in moves if trains else ():
            name = move.slot or ""
            made = [node for node in function.of(ast.Assign) if path_of(node.targets[0]) == name]
            if not name.isidentifier() or len(made) != 1 or not _is_made(made[0].value, scope):
                continue
            if not _is_idle(function, name, trains) or _is_read(function, move):
                continue
            other = trains[0].function.node.name
            related = (Related(function.site(made[0]), "the optimizer is made here"),)
            found = note(REGISTRY["ZG301"], move.site, certain=True, related=related, what=move.what)
            message = _MESSAGE.format(what=move.what, optimizer=name, other=f"{other}()")
            yield found._replace(message=message, cure=_CURE)
        if moves:
            return


def _is_made(value: ast.expr, scope: Scope) -> bool:
    return isinstance(value, ast.Call) and makes_optimizer(value, scope)


def _has_its_own(call: Call, function: Reading) -> bool:
    """Whether a function makes an optimizer, whatever happens, and steps no other."""
    body = function.file.program.body_of(call.function)
    slots = {act.slot for act in walk(body) if isinstance(act, Act) and act.kind is Kind.CONSUME}
    made = {node.slot for node in body if isinstance(node, Create)}
    inner = [function.file.program.body_of(node.function) for node in walk(body) if isinstance(node, Call)]
    quiet = all(isinstance(node, Act) and node.kind is not Kind.CONSUME for one in inner for node in walk(one))
    return bool(slots) and slots <= made and quiet


def _is_idle(function: Reading, name: str, trains: list[Call]) -> bool:
    """Whether nothing is done with an optimizer that could step it, wherever it is known."""
    program = function.file.program
    if name in function.scope.shared or any(map(function.file.says, _SPACES)):
        return False
    inner = [one for one in program.roots.functions if one.scope.is_inside(function.scope) and not one.scope.owns(name)]
    if any(isinstance(part, ast.Name) and part.id == name for one in inner for part in below(one.node)):
        return False
    parents = parents_of(function.node)
    loads = [node for node in function.of(ast.Name) if node.id == name and isinstance(node.ctx, ast.Load)]
    return all(_is_harmless(parents.get(node), node, function, trains) for node in loads)


def _is_harmless(parent: ast.AST | None, node: ast.Name, function: Reading, trains: list[Call]) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in _IDLE
    call = parent if isinstance(parent, ast.Call) else None
    call = call or next((one for one in function.of(ast.Call) if parent in one.keywords), None)
    if call is None or not any(part is node for one in (*call.args, *call.keywords) for part in below(one)):
        return False
    if function.scope.dotted(path_of(call.func) or "").startswith("torch.optim.lr_scheduler."):
        return True
    return any(_is_dropped(one, node.id, function) for one in trains if _stands_for(one, call, function))


def _stands_for(one: Call, call: ast.Call, function: Reading) -> bool:
    site = function.site(call)
    return one.site is not None and (one.site.line, one.site.column) == (site.line, site.column)


def _is_dropped(call: Call, name: str, function: Reading) -> bool:
    """Whether a function makes another optimizer by the name that it was handed this one by."""
    body: Block = function.file.program.body_of(call.function)
    parameters = [parameter for parameter, path in call.arguments if path == name]
    return bool(parameters) and all(Create(parameter) in body for parameter in parameters)


def _is_read(function: Reading, move: Act) -> bool:
    """scheduler.get_last_lr(), log(scheduler): anything but to move it."""
    schedule = move.what.removesuffix(".step()")
    binding = function.scope.lookup(schedule) if schedule.isidentifier() else None
    if binding is None or binding.role is not Role.SCHEDULER:
        return True
    moved = {id(node.value) for node in function.of(ast.Attribute) if node.attr in ("step", *_IDLE)}
    loads = [node for node in function.of(ast.Name) if node.id == schedule and isinstance(node.ctx, ast.Load)]
    return any(id(node) not in moved for node in loads)
