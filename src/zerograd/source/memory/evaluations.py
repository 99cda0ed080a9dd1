"""Evaluations that add up losses with their graphs: neither they nor those who call them look away from autograd.

An evaluation is a function that is named for it, or that puts a model into its mode, and that deposits nothing. Its
losses have graphs if they are made as those are that the file goes backward from; what a model returned, or a score of
it, is told where it is read only as a number.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.differentiated import feeds_a_loss, goes_through
from zerograd.source.graphs.living import FROZEN, Graphs
from zerograd.source.graphs.quiet import opaque_parts
from zerograd.source.memory.keepsakes import is_only_told
from zerograd.source.memory.kept import resets
from zerograd.source.names.freezing import freezes
from zerograd.source.names.scopes import Function
from zerograd.source.text import wording
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import Nodes, below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import called, calls_of, handed_in
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.owned import is_made_empty
from zerograd.source.values.reading import File, Reading
from zerograd.source.values.readouts import is_only_read
from zerograd.source.values.sums import adds_to, appends_to, summands

_EVALUATES = pattern(r"eval|(^|[_.])val|valid|test|(^|[_.])dev(?!ice)|score")
_SUMS = pattern(r"= *(\w+) *\+")
_AWAY = ("no_grad", "inference_mode", "set_grad_enabled", "volatile", "backward", "autograd")
_DETACHED = pattern(r"\.detach\(\)\s*$", re.MULTILINE)
_PREDICTS = pattern(r"predict|(^|_)infer(ence)?(_|$)|extract_")
_COUNTS = pattern(r"acc(uracy)?(_|$)|metric|score")
_CUTS = frozenset({"training", "item", "is_grad_enabled", "detach", "argmax", "tolist"})
_FEW = 3  # levels of callers
_MANY = 12  # sums that are looked at in one function, and functions in one file


def detect(file: File) -> Iterator[Finding]:
    if not file.says("backward("):
        return
    switches = file.says(".eval()")
    asked = (one for one in file.program.roots.functions if switches or _is_named_so(one.node.name.lower()))
    growing = list(islice((one for one in asked if _evaluates(one, within(file.text, one.node))), _MANY))
    if not growing or file.says("set_grad_enabled") or file.says("volatile"):
        return
    if any(map(partial(_changes_its_mind, file), file.program.roots.functions)):
        return
    for function in growing:
        yield from _summed(Reading(function.node, (), function.scope, file))


def _evaluates(function: Function, text: str) -> bool:
    """Whether it does, adds something up, and looks on."""
    if ".eval()" not in text and not _is_named_so(function.node.name.lower()):
        return False
    return ("+=" in text or ".append(" in text or _SUMS.search(text) is not None) and not _looks_away(text)


def _looks_away(text: str) -> bool:
    return any(word in text for word in _AWAY) or (".detach()" in text and _DETACHED.search(text) is not None)


def _changes_its_mind(file: File, function: Function) -> bool:
    """def forward(self, x): if not self.training: with torch.no_grad(): ...; or the __call__() of a wrapper"""
    if function.node.name not in ("forward", "__call__"):
        return False
    text = within(file.text, function.node)
    return (".training" in text or function.node.name == "__call__") and _looks_away(text)


@lru_cache(maxsize=1024)  # the same few hundred names stand in all files
def _is_named_so(name: str) -> bool:
    return _EVALUATES.search(name) is not None or _PREDICTS.search(name) is not None


def inside(function: Reading) -> Iterator[Finding]:
    """The same in a function that trains: a loop of it over other data, without a backward of its own."""
    backwards = [act.node for act in function.having(Kind.DEPOSIT) if act.node is not None]
    others = [loop for loop in function.of(ast.For) if not any(holds(loop, backward) for backward in backwards)]
    over = [loop for loop in others if _EVALUATES.search(written(loop.iter).lower())] if backwards else []
    if not over or not any(map(_speaks_of_evaluation, function.of(ast.For))):
        return
    for node, total, what in _kept(function):
        if function.loop_around(node) not in over:
            continue
        if any(_is_differentiated(*one) for one in calls_of(function)):
            continue
        if not function.without_grad(node) and not feeds_a_loss(function, total, _names_of(backwards)):
            certain = not freezes(function.file.text)
            unless = "frozen parameters may leave no graph to keep"
            yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _speaks_of_evaluation(loop: ast.For) -> bool:
    return any(
        isinstance(part, ast.Name | ast.Attribute) and _EVALUATES.search(_word(part)) for part in below(loop.iter)
    )


def _word(part: ast.Name | ast.Attribute) -> str:
    return (part.id if isinstance(part, ast.Name) else f".{part.attr}").lower()


def _summed(function: Reading) -> Iterator[Finding]:
    if getattr(function.node, "name", "") in function.scope.module.assigned:
        return  # evaluate = torch.no_grad()(evaluate)
    opaque = list(opaque_parts(function))
    for node, _, what in _kept(function):
        if any(holds(part, node) for part in opaque):
            continue
        certain = not freezes(function.file.text) and _is_called_with_graphs(function, _FEW)
        certain = certain and not _is_quiet_elsewhere(function)
        unless = "the caller may run this under torch.no_grad()"
        yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _kept(function: Reading) -> Iterator[tuple[ast.AugAssign | ast.Assign | ast.Expr, str, str]]:
    """The sums and lists of losses in the loops of a function."""
    own = [one for one in adds_to(function) if one[1].isidentifier() and one[1] not in function.scope.parameters]
    sums = [one for one in [*own, *appends_to(function)][:_MANY] if not _is_number(one[2])]
    if not sums:
        return
    like, losses, graphs = _made_like(function.file), _losses(function), Graphs(function)
    for node, total, added in sums:
        loop = function.loop_around(node)
        if loop is None or function.arms(node) != function.arms(loop):
            continue
        values = [value for value in map(_unreduced, _summands(added, losses, loop)) if _is_made(value, like)]
        if any(_may_be_number(value, function) for value in values):
            continue
        made = next(iter(values), None)
        live = made is not None and _goes_through_a_model(Ancestry(function).of(made), loop)
        if not (live or (graphs.has(added) and _is_read(function, total, node))):
            continue
        if isinstance(node, ast.Expr) and not (total.isidentifier() and _is_own(function, total, node, live)):
            continue
        if not resets(function, loop, total, node) and not counts_to_few(loop, function):
            yield node, total, f"{written(node)} keeps the graphs of all iterations"


def _is_number(added: ast.expr) -> bool:
    """1, loss.item(), pred.argmax(1)"""
    func = added.func if isinstance(added, ast.Call) else None
    return isinstance(added, ast.Constant) or (isinstance(func, ast.Attribute) and func.attr in wording.CUTS)


def _is_read(function: Reading, total: str, node: ast.AugAssign | ast.Assign | ast.Expr) -> bool:
    return is_only_read(function, total, node) or (
        not isinstance(node, ast.Expr) and is_only_told(function, total, node)
    )


def _is_own(function: Reading, total: str, node: ast.Expr, live: bool) -> bool:
    """Whether a list is this function's, and nobody who may go through it gets it; of one that is only read that is
    known."""
    return is_made_empty(function, total, total, node, None if live else function.loop_around(node))


def _names_of(backwards: list[ast.AST]) -> set[str]:
    losses = (loss_of(call) for call in backwards if isinstance(call, ast.Call))
    return {path_of(loss) or "" for loss in losses if loss is not None}


def _losses(function: Reading) -> dict[str, list[ast.expr]]:
    """What names are made of."""
    made: dict[str, list[ast.expr]] = {}
    for node in function.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                made.setdefault(target.id, []).append(node.value)
    return made


def _summands(added: ast.expr, losses: dict[str, list[ast.expr]], loop: ast.AST) -> Iterator[ast.expr]:
    """What is added, by the call that made it: a loss by its name, made once in this loop, or made on the spot."""
    for name in dict.fromkeys(summands(added)):
        here = [value for value in losses.get(name, ()) if holds(loop, value)]
        if len(here) == 1:
            yield here[0]
    yield from ([added.left, added.right] if isinstance(added, ast.BinOp) else [added])


def _unreduced(made: ast.expr) -> ast.expr:
    """criterion(out, y) of criterion(out, y).sum()"""
    match made:
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr="mean" | "sum")):
            return inner
    return made


def _is_made(value: ast.expr, like: frozenset[str]) -> bool:
    return isinstance(value, ast.Call) and path_of(value.func) in like


def _may_be_number(call: ast.expr, function: Reading) -> bool:
    """Whether what makes losses in training makes numbers here: it is told to, is another, or switches by itself."""
    assert isinstance(call, ast.Call)
    path = path_of(call.func) or ""
    if any(isinstance(one.value, ast.Constant) and isinstance(one.value.value, bool) for one in call.keywords):
        return True
    handed = list(handed_in(function, path)) if path in function.scope.parameters else []
    makers = [(function, path), *((where, path_of(one)) for where, one in handed if one is not None)]
    return function.file.says(f"{path}.eval()") or any(_may_count(name or "", where) for where, name in makers)


def _may_count(path: str, where: Reading) -> bool:
    """Whether it is named for a score, or a function of this project that cuts, or asks in which mode it is."""
    callee = called(path, where.scope)
    attributes = [] if callee is None else Nodes(callee.node).of(ast.Attribute)
    return _COUNTS.search(path) is not None or any(one.attr in _CUTS for one in attributes)


@lru_cache(maxsize=1)  # asked of every function of a file
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
    if not names:
        return
    values += [node.value for node in function.of(ast.Assign) if any(path_of(one) in names for one in node.targets)]
    values += [node.value for node in function.of(ast.AugAssign) if path_of(node.target) in names]
    yield from (path_of(value.func) or "" for value in values if isinstance(value, ast.Call) and path_of(value.func))


def _goes_through_a_model(ancestors: frozenset[ast.AST | str], loop: ast.AST) -> bool:
    """Whether a loss is made, in this iteration, of what something that is named for it returned."""
    calls = [one for one in ancestors if isinstance(one, ast.Call) and holds(loop, one)]
    models = [(path_of(call.func) or "").removesuffix(".forward") for call in calls]
    return any(wording.is_model(model) and not FROZEN.search(model) for model in models)


def _is_called_with_graphs(function: Reading, depth: int) -> bool:
    """Whether it is called at all, and every time with autograd looking on, and nobody differentiates what it says."""
    calls = list(calls_of(function))
    called = bool(calls) or _is_called_beside(function)
    return called and not any(_is_quiet(where, call, depth) for where, call in calls)


def _is_called_beside(function: Reading) -> bool:
    """Whether a file beside this one calls it, and never looks away from autograd."""
    call, owner = f".{getattr(function.node, 'name', '')}(", function.scope.owner
    made = [f"{name}(" for name, cls in function.scope.module.class_scopes.items() if cls is owner]
    texts = (function.file.beside or ()) if owner is not None and made else ()
    return any(call in text and made[0] in text and not _looks_away(text) for text in texts)


def _is_quiet(where: Reading, call: ast.Call, depth: int) -> bool:
    if where.without_grad(call) or not depth or any(holds(part, call) for part in opaque_parts(where)):
        return True
    return _is_differentiated(where, call) or any(_is_quiet(outer, its, depth - 1) for outer, its in calls_of(where))


def _is_differentiated(where: Reading, call: ast.Call) -> bool:
    """Whether somebody goes through the graph of what a call returns: validate(net).backward()."""
    targets = [one for node in where.of(ast.Assign) if holds(node.value, call) for one in node.targets]
    names = {path_of(part) for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])} - {None}
    goers = [other for other in where.of(ast.Call) if other is not call and goes_through(other, where)]
    return any(holds(other, call) or not names.isdisjoint(path_of(part) for part in below(other)) for other in goers)


def _is_quiet_elsewhere(function: Reading) -> bool:
    """Whether a file beside this one names the function, and looks away from autograd somewhere."""
    name, texts = re.escape(getattr(function.node, "name", "")), function.file.beside
    named, own = re.compile(rf"\b{name}\b"), re.compile(rf"^def {name}\b", re.M)  # own: another one of this name
    alone = function.scope.owner is None  # a method is called on an object, whatever else has its name
    return texts is None or any(
        wording.looks_away(text) and named.search(text) and not (alone and own.search(text)) for text in texts
    )
