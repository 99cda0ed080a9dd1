"""Evaluations that add up losses with their graphs: neither they nor those who call them look away from autograd.

An evaluation is a function that is named for it, or that puts a model into its mode, and that deposits nothing. Its
losses have graphs if they are made as those are that the file goes backward from.
"""

import ast
import os
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source import wording
from zerograd.source.ancestry import Ancestry
from zerograd.source.callers import calls_of
from zerograd.source.discover import read_text
from zerograd.source.kept import adds_to, counts_to_few, resets, weighs
from zerograd.source.lines import starts_of
from zerograd.source.losses import loss_of
from zerograd.source.nodes import holds, written
from zerograd.source.privacy import neighbours
from zerograd.source.reach import freezes
from zerograd.source.reading import File, Reading
from zerograd.source.scopes import path_of

_EVALUATES = re.compile(r"eval|valid|test|dev(?!ice)|score")
_SUMS = re.compile(r"\+=|= *(\w+) *\+")
_LOOKS_AWAY = re.compile(r"no_grad|inference_mode|set_grad_enabled|volatile|backward|autograd|\.detach\(\)\s*$", re.M)
_FEW = 3  # levels of callers
_MOST = 400  # files beside this one


def detect(file: File) -> Iterator[Finding]:
    if not file.says("backward(") or file.says("set_grad_enabled"):
        return
    starts = starts_of(file.text)
    for function in file.program.roots.functions:
        named = _EVALUATES.search(function.node.name.lower())
        if not named and not file.says(".eval()"):
            continue
        first, last = function.node.lineno, function.node.end_lineno or function.node.lineno
        text = file.text[starts[first - 1] : starts[last] if last < len(starts) else None]
        if (named or ".eval()" in text) and _SUMS.search(text) and not _LOOKS_AWAY.search(text):
            yield from _summed(Reading(function.node, (), function.scope, file))


def _summed(function: Reading) -> Iterator[Finding]:
    ancestry = Ancestry(function)
    for node, total, added in adds_to(function):
        loop = function.loop_around(node)
        if loop is None or not total.isidentifier() or total in function.scope.parameters:
            continue
        losses = _losses(function)
        loss = next((name for name in losses if weighs(added, name)), None)
        made = losses.get(loss or "", added)
        if not _is_loss(made, _made_like(function.file)) or not _goes_through_a_model(ancestry.of(made), loop):
            continue
        if resets(function, loop, total, node) or counts_to_few(loop) or function.arms(node):
            continue
        certain = not freezes(function.file.text) and _is_called_with_graphs(function, _FEW)
        certain = certain and not _is_quiet_elsewhere(function)
        what = f"{written(node)} keeps the graph of every iteration alive"
        unless = "whoever calls this function may have told autograd to look away"
        yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _losses(function: Reading) -> dict[str, ast.expr]:
    """What is named a loss and made once."""
    made: dict[str, list[ast.expr]] = {}
    for node in function.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                made.setdefault(target.id, []).append(node.value)
    return {name: values[0] for name, values in made.items() if len(values) == 1}


def _is_loss(made: ast.expr, like: frozenset[str]) -> bool:
    return isinstance(made, ast.Call) and path_of(made.func) in like


def _made_like(file: File) -> frozenset[str]:
    """What makes the losses that this file goes backward from: criterion, F.cross_entropy, self.loss_fn."""
    found: set[str] = set()
    for function in file.program.roots.functions:
        if function.node in file.program.relevant:
            found |= set(_makers(Reading(function.node, file.program.function(function), function.scope, file)))
    module = file.program.module
    return frozenset(found | set(_makers(Reading(file.program.tree, module, file.program.roots.module, file))))


def _makers(function: Reading) -> Iterator[str]:
    deposits = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    values = [loss for call in deposits if (loss := loss_of(call)) is not None]
    names = {path_of(loss) for loss in values}
    values += [node.value for node in function.of(ast.Assign) if any(path_of(one) in names for one in node.targets)]
    yield from (path_of(value.func) or "" for value in values if isinstance(value, ast.Call) and path_of(value.func))


def _goes_through_a_model(ancestors: frozenset[ast.AST | str], loop: ast.AST) -> bool:
    """Whether a loss is made, in this iteration, of what something that is named for it returned."""
    calls = [one for one in ancestors if isinstance(one, ast.Call) and holds(loop, one)]
    return any(wording.is_model((path_of(call.func) or "").removesuffix(".forward")) for call in calls)


def _is_called_with_graphs(function: Reading, depth: int) -> bool:
    """Whether it is called at all, and every time with autograd looking on, and nobody differentiates what it says."""
    calls = list(calls_of(function))
    return bool(calls) and not any(_is_quiet(where, call, depth) for where, call in calls)


def _is_quiet(where: Reading, call: ast.Call, depth: int) -> bool:
    if where.without_grad(call) or not depth:
        return True
    names = {path_of(t) for node in where.of(ast.Assign) if holds(node.value, call) for t in node.targets}
    for backward in where.of(ast.Call):
        if isinstance(backward.func, ast.Attribute) and backward.func.attr == "backward":
            loss = loss_of(backward)
            if loss is not None and (path_of(loss) in names or holds(loss, call)):
                return True
    return any(_is_quiet(outer, its, depth - 1) for outer, its in calls_of(where))


def _is_quiet_elsewhere(function: Reading) -> bool:
    """Whether a file beside this one names the function, and looks away from autograd somewhere."""
    path, name = function.file.path, getattr(function.node, "name", "")
    if not os.path.isfile(path):
        return False  # a text alone
    folders, files = neighbours(path)
    function.file.asked.update(folders)
    for other in files[:_MOST]:
        try:
            text = read_text(other)
        except SourceError:
            return True
        function.file.asked.add(other)
        if wording.looks_away(text) and re.search(rf"\b{re.escape(name)}\b", text):
            return True
    return len(files) > _MOST
