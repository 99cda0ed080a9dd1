"""Losses of a copy, and an optimizer of the original: no step finds a gradient (ZG003).

for x, y in tasks:
    task_model = inner_loop(model, x, y)       # a new Model, into which the weights were loaded
    loss_fn(task_model(x), y).backward()
    meta_optimizer.step()                      # of the model, whose weights were copied

Silent where the model may go into a loss itself, where gradients are read or written by hand, and where somebody else
goes backward in the loop who cannot be read.
"""

import ast
from collections.abc import Iterator
from itertools import islice

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.learning.severed import is_used
from zerograd.source.lowering.skeleton import Call
from zerograd.source.names.arguments import arguments
from zerograd.source.text.nodes import below, holds, place
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import BUILTINS, SAME
from zerograd.source.values.callers import called, reading_of
from zerograd.source.values.copies import makes_module
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.holdings import held_by
from zerograd.source.values.reading import LoopNode, Reading

_MADE = (ast.Assign, ast.AugAssign, ast.Call)  # loss = a, loss += a, losses.append(a)
_WEIGHTS = frozenset({"parameters", "named_parameters", "weight", "bias"})
_FEW = 12  # copies that are looked at in one function


def detect(function: Reading) -> Iterator[Finding]:
    file = function.file
    if not file.says("deepcopy(") and not file.says("load_state_dict("):
        return
    deposits = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    steps = function.having(Kind.CONSUME) if deposits and function.loops and not file.reads_gradients else []
    held = [(act, modules) for act in steps if len(modules := held_by(act.slot or "", function)) == 1]
    copied = ((one, loop) for one in function.of(ast.Assign) if held and (loop := function.loop_around(one)))
    for made, loop in islice(copied, _FEW):
        copy = path_of(made.targets[0]) if isinstance(made.value, ast.Call) else None
        if copy is None or not all(holds(loop, one) or _is_behind(loop, one) for one in deposits):
            continue
        for act, (model,) in held:
            if act.node is None or model == copy or not _follows(act.node, made, loop, deposits, model, function):
                continue
            if _is_copied(made, copy, model, function) and _trains_copy(function, made, loop, deposits, copy):
                found = note(REGISTRY["ZG003"], act.site, certain=True, step=act.what)
                yield found._replace(cure=f"bring the gradients of {copy} to {model}, or train {copy}")


def _follows(
    step: ast.AST, made: ast.Assign, loop: LoopNode, deposits: list[ast.Call], model: str, function: Reading
) -> bool:
    """Whether a step stands behind the copy in its loop; or behind the loop, where the losses of all copies are added
    up, and none of those is made of the model's own weights: fast.weight = model.weight - lr * gradient."""
    if holds(loop, step):
        return place(step) > place(made) and all(holds(loop, one) for one in deposits)
    last = max(deposits, key=place)
    return _is_behind(loop, last) and place(last) < place(step) and not _is_read_in(loop, model, function)


def _is_behind(loop: LoopNode, node: ast.AST) -> bool:
    return place(node)[0] > place(loop)[1]


def _is_read_in(loop: LoopNode, model: str, function: Reading) -> bool:
    asked = (one for one in function.of(ast.Attribute) if one.attr in _WEIGHTS and holds(loop, one))
    return any(path_of(one.value) == model for one in asked)


def _trains_copy(function: Reading, made: ast.Assign, loop: LoopNode, deposits: list[ast.Call], copy: str) -> bool:
    """Whether all that goes backward in the loop is made of the copy, as far as can be read."""
    program = function.file.program
    runs = [one for one in function.parts(Call) if program.body_of(one.function)]
    lines = [one.site.line if one.site is not None else loop.lineno for one in runs]
    alone = all(made.lineno <= line <= (made.end_lineno or 0) for line in lines if _stands_in(line, loop))
    return alone and all(_is_of(copy, one, function) for one in deposits)


def _stands_in(line: int, loop: LoopNode) -> bool:
    return loop.lineno <= line <= (loop.end_lineno or loop.lineno)


def _is_copied(made: ast.Assign, copy: str, model: str, function: Reading) -> bool:
    """Whether the one has weights of its own, and got the values of the other, which is asked for nothing more."""
    if _deepcopied(made.value) == model:
        return not is_used(function, model, made.value)
    if not makes_module(made.value, function):
        return False
    loads = [call for call in function.of(ast.Call) if _loads(call, copy, model)]
    if loads:
        return not is_used(function, model, made.value)
    call = made.value
    helper = called(path_of(call.func) or "", function.scope) if isinstance(call, ast.Call) else None
    if helper is None or not isinstance(call, ast.Call) or is_used(function, model, call):
        return False
    inside = reading_of(helper, function.file)
    nested = bool(function.file.parts_of(function.file.program.body_of(helper), Call))
    kept = {model} if model.startswith("self.") and path_of(call.func) == f"self.{helper.node.name}" else set[str]()
    known = {name for name, its in arguments(call, helper) if path_of(its) == model} | kept
    brought = [one for one in inside.of(ast.Call) if any(_loads(one, "", its) for its in known)]
    brought += [one for one in inside.of(ast.Call) if _deepcopied(one) in known]
    return bool(brought) and not nested and not any(_asks_more(inside, one) for one in known)


def _asks_more(inside: Reading, model: str) -> bool:
    """Whether a helper does anything with the model but read its weights."""
    nodes: list[ast.expr] = [*inside.of(ast.Name), *inside.of(ast.Attribute)]
    uses = [node for node in nodes if path_of(node) == model]
    asked = {id(node.value) for node in inside.of(ast.Attribute) if node.attr in ("state_dict", "train", "eval")}
    asked |= {id(one) for call in inside.of(ast.Call) if _deepcopied(call) == model for one in call.args}
    return any(id(node) not in asked for node in uses)


def _loads(call: ast.Call, copy: str, model: str) -> bool:
    """copy.load_state_dict(model.state_dict()), but not with assign=True"""
    match call:
        case ast.Call(func=ast.Attribute(value=on, attr="load_state_dict"), args=[given], keywords=[]):
            read = {path_of(part.func) for part in below(given) if isinstance(part, ast.Call)}
            return f"{model}.state_dict" in read and copy in ("", path_of(on))
    return False


def _is_of(copy: str, deposit: ast.Call, function: Reading) -> bool:
    """Whether a loss is made of what the copy returned, and of nobody else's who could know the model."""
    loss, every = loss_of(deposit), definitions_of(function).every
    pending, calls, seen = [loss] if loss is not None else [], list[ast.Call](), set[str]()
    for value in pending:  # it grows on the way
        parts = below(value)
        calls += [part for part in parts if isinstance(part, ast.Call)]
        names = {part.id for part in parts if isinstance(part, ast.Name)} - seen - {copy}
        seen |= names
        pending += [one.value for name in names for one in every(name) if isinstance(one.node, _MADE)]
    paths = {path_of(call.func) or "" for call in calls}
    others = {path for path in paths - {copy} if not _is_harmless(path, function)}
    return copy in paths and not others and not any(function.without_grad(call) for call in calls)


def _is_harmless(path: str, function: Reading) -> bool:
    """Torch's own, a loss that is called one and that no function here is, a method of a tensor."""
    scope = function.scope
    if scope.dotted(path).startswith("torch.") or path in BUILTINS or path == "":
        return True
    known = scope.function(path) is not None
    return not known and ("crit" in path.lower() or "loss" in path.lower() or path.rpartition(".")[2] in SAME)


def _deepcopied(value: ast.expr) -> str | None:
    """The model that is copied, alone or to be changed."""
    match value:
        case ast.Call(func=func, args=[given, *_]) if (path_of(func) or "").rpartition(".")[2] == "deepcopy":
            return path_of(given)
        case ast.Call(args=[ast.Call() as inner, *_]):
            return _deepcopied(inner)
    return None
