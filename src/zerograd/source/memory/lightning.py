"""Losses that a training_step() of Lightning's keeps with their graphs: it returns them, and Lightning goes backward.

self.losses.append(loss), self.total += loss, self.meter.update(loss)

What hooks of an epoch empty was kept for an epoch; what a hook of a batch, or anything unknown, may empty is silent.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.memory.histories import Fate, fate_beside
from zerograd.source.memory.keeping import begun_in, kept_by
from zerograd.source.memory.kept import retains
from zerograd.source.memory.meters import read, starts_anew
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.automatic import is_known, is_training_step
from zerograd.source.values.instances import class_of
from zerograd.source.values.owned import hands_itself_on
from zerograd.source.values.reading import File, Reading
from zerograd.source.values.rebound import is_rebound
from zerograd.source.values.sums import adds_to, appends_to, weighed, weighs

_FEW = 12  # sums and lists that are looked at in one step
_SELDOM = pattern(r"epoch|^(on_)?(fit|train|validation|test)_(start|end)$|^setup$")


def detect(file: File) -> Iterator[Finding]:
    if not file.says("LightningModule") or not file.says("def training_step("):
        return
    for one in file.program.roots.functions:
        if one.node.name == "training_step":
            function = Reading(one.node, (), one.scope, file)
            if is_training_step(function) and one.scope.owner is not None and is_known(one.scope.owner):
                yield from _kept(function, one)


def _kept(function: Reading, step: Function) -> Iterator[Finding]:
    losses = dict(_losses(function))
    kept: list[tuple[ast.stmt | ast.expr, ast.expr]] = [*_listed(function, step), *_metered(function, losses)]
    for node, value in kept if losses else ():
        loss = weighed(value, losses)
        if loss is None or function.arms(node) or function.without_grad(node):
            continue
        if not is_rebound(function, loss, losses[loss], node):
            what = f"{written(node)} keeps the graphs of all batches"
            yield note(REGISTRY["ZG402"], function.site(node), certain=True, what=what)


def _losses(function: Reading) -> Iterator[tuple[str, ast.expr]]:
    """return loss, return {"loss": loss}; or self.manual_backward(loss), where Lightning does not go backward itself"""
    by_hand = function.file.says("automatic_optimization") or function.file.says("manual_backward")
    values = [back.value for back in function.of(ast.Return) if not by_hand]
    calls = [call for call in function.of(ast.Call) if path_of(call.func) == "self.manual_backward"]
    values += [call.args[0] for call in calls if call.args and not retains(call)]
    for value in values:
        match value:
            case ast.Dict(keys=keys, values=items):
                named = zip(keys, items, strict=True)
                value = next((its for key, its in named if isinstance(key, ast.Constant) and key.value == "loss"), None)
        if isinstance(value, ast.Name):
            yield value.id, value


def _listed(function: Reading, step: Function) -> Iterator[tuple[ast.stmt, ast.expr]]:
    owner = step.scope.owner
    for node, keeper, value in [*adds_to(function), *appends_to(function)][:_FEW]:
        if keeper.startswith("self.") and keeper.count(".") == 1 and owner is not None:
            begun = begun_in(owner, step, node, keeper, function.file)
            if begun is None or not all(map(_SELDOM.search, begun)) or _may_be_emptied(function, keeper):
                continue
            if fate_beside(function, keeper.partition("[")[0]) is Fate.GROWS:
                yield node, value


def _may_be_emptied(function: Reading, keeper: str) -> bool:
    """Whether the step hands it, or its object, to somebody who may empty it: self.flush(self.losses)."""
    root = keeper.partition("[")[0]
    calls = [call for call in function.of(ast.Call) if not (path_of(call.func) or "").startswith("torch.")]
    handed = any(path_of(part) == root for call in calls for one in call.args for part in below(one))
    return handed or hands_itself_on(function)


def _metered(function: Reading, losses: dict[str, ast.expr]) -> Iterator[tuple[ast.Call, ast.expr]]:
    for call in function.of(ast.Call):
        loss = next((name for name in losses if any(weighs(one, name) for one in call.args)), None)
        given = read(call) if loss is not None and function.file.says("def configure_optimizers") else None
        if given is None or loss is None or not given.meter.startswith("self.") or "manual_backward" in given.meter:
            continue
        cls = class_of(function, given.meter)
        emptied = kept_by(cls, given.method, call, loss, function.file) if cls is not None else None
        if emptied is not None and not starts_anew(function, function.node, given, emptied):
            yield call, next(one for one in call.args if weighs(one, loss))
