"""Losses that go backward and reach nobody: they end in a leaf that was made of them, or in copies of weights (ZG003).

return Variable(weight * penalty, requires_grad=True)      # penalty().backward() fills that Variable, and nothing else

with higher.innerloop_ctx(model, inner) as (copied, _):    # without copy_initial_weights=False
    loss(copied(x)).backward()
optimizer.step()                                           # of the model, whose weights were copied
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.scopes import Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import MODULES
from zerograd.source.values.callers import called
from zerograd.source.values.definitions import Definition, Definitions, Item, definitions_of
from zerograd.source.values.holdings import held_by
from zerograd.source.values.reading import File, Reading

_LOSS = pattern(r"loss|penalty|(^|_)(err|gp|cost)")
_COPIES = frozenset({"Variable", "tensor"})


def detect(function: Reading) -> Iterator[Finding]:
    says = function.file.says
    if says("requires_grad") and (says("requires_grad=True") or says(".requires_grad_(")):
        yield from _made_leaves(function)
    if function.of(ast.With) and says("innerloop_ctx"):
        yield from _copied_weights(function)


def _made_leaves(function: Reading) -> Iterator[Finding]:
    """def penalty(): return Variable(weight * norm, requires_grad=True), and penalty().backward() in this file; or a
    loss that is made one where it goes backward, among others."""
    name = getattr(function.node, "name", "")
    returned = [node.value for node in function.of(ast.Return)]
    made = [value for value in returned if isinstance(value, ast.Call) and _is_made_of_a_loss(value, name)]
    if made and len(made) == len(returned) and name in deposited(function.file):
        yield from (_told(function, value) for value in made)
    if not function.having(Kind.DEPOSIT):
        return  # where it is the only one, the step is told to have nothing
    for assigned in function.of(ast.Assign):
        loss = path_of(assigned.targets[0]) or ""
        if isinstance(assigned.value, ast.Call) and _is_made_of_a_loss(assigned.value, loss):
            goes = any(path_of(call.func) == f"{loss}.backward" for call in function.of(ast.Call))
            if goes and len(definitions_of(function).every(loss)) == 1:
                yield _told(function, assigned.value)


def _told(function: Reading, call: ast.Call) -> Finding:
    found = note(REGISTRY["ZG003"], function.site(call), certain=True, step=written(call.func))
    return found._replace(
        message=f"{written(call.func)}(...) makes a new leaf of a loss: backward() stops there, and nothing "
        "that the loss was computed from gets a gradient",
        cure="call backward() on the loss as it was computed",
    )


def _is_made_of_a_loss(call: ast.Call, name: str) -> bool:
    match call:  # loss.detach().requires_grad_()
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=cut, attr="detach")), attr="requires_grad_")
        ):
            return _LOSS.search((path_of(cut) or "").lower()) is not None
    asked = [keyword.value for keyword in call.keywords if keyword.arg == "requires_grad"]
    if (path_of(call.func) or "").rpartition(".")[2] not in _COPIES or not asked or not call.args:
        return False
    told = any(isinstance(value, ast.Constant) and value.value is True for value in asked)
    parts = [path_of(part) or "" for part in below(call.args[0])]
    return told and any(_LOSS.search(word.lower()) for word in (name, *parts)) and not _is_number(call.args[0])


def _is_number(value: ast.expr) -> bool:
    """0.0, torch.zeros(1).cuda(), self.zero: where nothing is to be learned."""
    return not {part.id for part in below(value) if isinstance(part, ast.Name)} - {"torch", "self", "float"}


def deposited(file: File) -> dict[str, set[Item]]:
    """The functions whose results backward() is called on, by their names, and which of several results it is."""
    found: dict[str, set[Item]] = {}
    for call, at, _ in _depositing(file):
        found.setdefault((path_of(call.func) or "").rpartition(".")[2], set()).add(at)
    return found


def passed(file: File) -> dict[ast.AST, set[Item]]:
    """The same by the functions themselves, and of what an object runs that is called: the forward pass of a loss.
    One that is called where nobody can tell which it is counts if there is no other of its name."""
    found: dict[ast.AST, set[Item]] = {}
    by_name: dict[str, list[ast.AST]] = {}
    for one in file.program.roots.functions:
        by_name.setdefault(one.node.name, []).append(one.node)
    for call, at, scope in _depositing(file):
        path = path_of(call.func) or ""
        run = called(path, scope)
        alone = by_name.get(path.rpartition(".")[2], [])
        for node in [run.node] if run is not None else alone if len(alone) == 1 else []:
            found.setdefault(node, set()).add(at)
    return found


@lru_cache(maxsize=2)  # asked of every function of a file
def _depositing(file: File) -> list[tuple[ast.Call, Item, Scope]]:
    """The calls whose results go backward, which of several results it is, and where."""
    found: list[tuple[ast.Call, Item, Scope]] = []
    program = file.program
    trains = [one for one in program.roots.functions if "backward(" in within(file.text, one.node)]
    roots: list[tuple[ast.AST, Scope]] = [(program.tree, program.roots.module), *trains]
    for node, scope in roots:
        funcs = [call.func for call in program.nodes(node).of(ast.Call) if isinstance(call.func, ast.Attribute)]
        losses = [part for func in funcs if func.attr == "backward" for part in below(func.value)]
        if losses:
            names = definitions_of(Reading(node, (), scope, file))
            made = [one for part in losses for one in _made(part, names)]
            found += [(one.value, one.at, scope) for one in made if isinstance(one.value, ast.Call)]
    return found


def _made(part: ast.AST, names: Definitions) -> list[Definition]:
    reached = names.reaching(part.id, part) if isinstance(part, ast.Name) else None
    return [*reached.here, *reached.around] if reached is not None else []


def _copied_weights(function: Reading) -> Iterator[Finding]:
    """The weights that `higher` trains are copies, unless it is told otherwise: the model's own get no gradient."""
    for block in function.of(ast.With):
        for item in block.items:
            model = _copied(item.context_expr)
            if model is None or is_used(function, model, item.context_expr):
                continue
            for act in function.having(Kind.CONSUME):
                behind = act.node is not None and place(act.node) > place(block)
                if behind and held_by(act.slot or "", function) == {model}:
                    found = note(REGISTRY["ZG003"], act.site, certain=True, step=act.what)
                    yield found._replace(cure="pass copy_initial_weights=False to higher.innerloop_ctx()")


def _copied(context: ast.expr) -> str | None:
    match context:
        case ast.Call(func=func, args=[model, _], keywords=keywords) if (path_of(func) or "").endswith("innerloop_ctx"):
            asked = [keyword.value for keyword in keywords if keyword.arg in ("copy_initial_weights", None)]
            kept = any(not isinstance(value, ast.Constant) or value.value is False for value in asked)
            return None if kept else path_of(model)
    return None


def is_used(function: Reading, model: str, context: ast.expr) -> bool:
    """Whether the model may go into a loss itself, or gradients may be brought to it: anything but what is asked of
    every module, and by no other name."""
    asked = {id(node.value) for node in function.of(ast.Attribute) if node.attr in MODULES}
    nodes: list[ast.expr] = [*function.of(ast.Name), *function.of(ast.Attribute)]
    uses = [node for node in nodes if path_of(node) == model and isinstance(getattr(node, "ctx", None), ast.Load)]
    told = [context, *(call for call in function.of(ast.Call) if path_of(call.func) == "print")]
    free = any(id(node) not in asked and not any(holds(one, node) for one in told) for node in uses)
    made = [one.value for one in definitions_of(function).every(model)]
    renamed = any(path_of(value) is not None for value in made)
    return free or renamed or function.file.reads_gradients or function.file.says("time=0")
