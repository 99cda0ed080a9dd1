"""Tensors that what has a graph is written into, in loops that go backward (ZG402).

best[better] = adv[better]

Every write adds to the graph of the tensor, and takes nothing away: the passes of all rounds hang on it. Certain where
the tensor was made outside the loop, is read only as numbers, or handed back with graphs that backward() has freed, and
is never itself differentiated.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.differentiated import feeds_a_loss
from zerograd.source.graphs.leaves import Ancestors
from zerograd.source.graphs.living import Graphs
from zerograd.source.lowering.skeleton import Call
from zerograd.source.memory.kept import is_emptied, is_storage, live_losses, retains
from zerograd.source.names.freezing import freezes
from zerograd.source.text.nodes import holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import called
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.reading import LoopNode, Reading
from zerograd.source.values.readouts import is_only_read
from zerograd.source.values.sums import weighed

_FEW = 12  # writes that are looked at in one function


def detect(function: Reading) -> Iterator[Finding]:
    if not function.parts(Call) and not function.having(Kind.DEPOSIT):
        return
    writes = [one for one in _writes(function) if function.loop_around(one[0]) and _is_own_tensor(function, one[1])]
    backwards = list(_backwards(function)) if writes else []
    if not backwards:
        return
    losses, graphs = live_losses(function), Graphs(function)
    ancestry = Ancestry(function)
    for node, name in writes[:_FEW]:
        loop = _round(function, node, backwards)
        if loop is None or counts_to_few(loop, function) or weighed(node.value, losses) is not None:
            continue
        if not _is_made_outside(function, name, loop) or not graphs.has(node.value):
            continue
        here = [back for back in backwards if holds(loop, back)]
        freed = any(_frees(back, ancestry.of(_whole(node.value)), ancestry, loop) for back in here)
        if _stays(function, name, node, freed=freed) and not is_emptied(function, loop, name):
            certain = not freezes(function.file.text)
            unless = "frozen parameters may leave no graph to keep"
            what = f"{written(node)} makes the graph of {name} grow in every iteration"
            yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _writes(function: Reading) -> Iterator[tuple[ast.Assign, str]]:
    for node in function.of(ast.Assign):
        match node.targets:
            case [ast.Subscript(value=ast.Name(id=name))] if name not in function.scope.parameters:
                yield node, name


def _backwards(function: Reading) -> Iterator[ast.AST]:
    """Where it goes backward: here, or in a function that is called here."""
    yield from (act.node for act in function.having(Kind.DEPOSIT) if act.node is not None)
    file = function.file
    run = {one.function for one in function.parts(Call)}  # what touches gradients
    deposits = {one for one in run if any(act.kind is Kind.DEPOSIT for act in file.acts_of(file.program.body_of(one)))}
    for call in function.of(ast.Call) if deposits else ():
        if called(path_of(call.func) or "", function.scope) in deposits:
            yield call


def _round(function: Reading, node: ast.AST, backwards: list[ast.AST]) -> LoopNode | None:
    """The innermost loop around a write that goes backward in every round."""
    around = [one for one in function.loops if holds(one, node) and any(holds(one, back) for back in backwards)]
    return max(around, key=lambda loop: (loop.lineno, loop.col_offset), default=None)


def _is_own_tensor(function: Reading, name: str) -> bool:
    """torch.zeros_like(x), x.clone()"""
    made = [one for one in definitions_of(function).every(name) if not one.adds]
    return bool(made) and all(one.at is None and not one.each and _is_tensor(one.value, function) for one in made)


def _is_made_outside(function: Reading, name: str, loop: LoopNode) -> bool:
    return not any(holds(loop, one.node) for one in definitions_of(function).every(name) if not one.adds)


def _is_tensor(value: ast.expr, function: Reading) -> bool:
    copied = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "clone"
    return copied or is_storage(value, function)


def _whole(value: ast.expr) -> ast.expr:
    """adv of adv[better]"""
    while isinstance(value, ast.Subscript):
        value = value.value
    return value


def _frees(back: ast.AST, written_of: Ancestors, ancestry: Ancestry, loop: LoopNode) -> bool:
    """Whether a backward() goes through what is written, so that nobody else can: whoever is handed the tensor."""
    if not isinstance(back, ast.Call) or retains(back):
        return False
    loss = loss_of(back)
    through = {back, *(ancestry.of(loss) if loss is not None else ())}  # or it calls who goes backward
    return any(isinstance(one, ast.AST) and holds(loop, one) for one in through & written_of)


def _stays(function: Reading, name: str, node: ast.Assign, *, freed: bool) -> bool:
    if function.without_grad(node) or feeds_a_loss(function, name, ()):
        return False
    writes = [one for one, other in _writes(function) if other == name]
    return is_only_read(function, name, *writes, *(function.of(ast.Return) if freed else ()))
