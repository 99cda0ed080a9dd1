"""Loss functions of which nothing can be learned, whoever calls them (ZG003).

def colour_loss(fake, real):
    values = [delta_e(a.detach().numpy(), b.numpy()) for a, b in zip(fake, real)]
    return torch.tensor(values, requires_grad=True).mean()      # a new leaf: backward() stops there

log_probs = torch.tensor(self.log_probs, requires_grad=True)    # so is this, and the policy learns nothing
loss = -(log_probs * returns).sum()

class FeatureLoss(nn.Module):
    def forward(self, real, fake):
        return (fake - real).detach().abs().mean()              # meant for the real features alone

A gradient is asked of the first two, so they are no measures that somebody only looks at; of the third kind only
modules count, in which every argument goes through a detach() or a no_grad(), and not the result. Silent where a file
asks for gradients itself.
"""

import ast
import re
from collections.abc import Iterator, Mapping

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.cut import Cut
from zerograd.source.graphs.leaves import makes_leaf
from zerograd.source.graphs.makers import Has
from zerograd.source.graphs.quiet import quiet_parts
from zerograd.source.graphs.revived import are_idle, copied_by
from zerograd.source.names.scopes import Function
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.triggers import may_cut_losses
from zerograd.source.text.wording import is_factor, is_term
from zerograd.source.values.callers import reading_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import File, Reading

_MEASURE = pattern(r"metric|eval|valid|(^|_)(test|log|monitor|report|plot)|accuracy|score", re.IGNORECASE)
_RUN = frozenset({"forward", "__call__"})
_LOG_PROB = pattern(r"log_?prob")
_LOG_PROBS = pattern(r"(^|[._])log_?probs?(_list|_history|_buffer)?$")
_OTHERS = pattern(r"log_?p|^dist|ratio|surr|softmax|nll", re.IGNORECASE)
_WORD = pattern(r"\w+")
_ALONE = 2  # self and labels
_FEW = 24  # names that are followed to see whether an argument is among them


def detect(file: File) -> Iterator[Finding]:
    if not may_cut_losses(file.text) or file.says("enable_grad"):
        return
    for one in file.program.roots.functions:
        text, name = within(file.text, one.node), _named(one)
        asks, cuts = "requires_grad" in text, ".detach()" in text or "no_grad" in text
        if not (asks or cuts) or _MEASURE.search(name) or one.node.decorator_list:
            continue
        function = Reading(one.node, (), one.scope, file)
        if asks and _LOG_PROB.search(text):
            yield from made_anew(function)
        if is_term(name.lower()):
            yield from _returning(function, is_module=name != one.node.name)


def _named(function: Function) -> str:
    """What a function is called; the forward pass of a class, as that."""
    scope = function.scope
    classes = scope.module.class_scopes if function.node.name in _RUN else {}
    return next((name for name, cls in classes.items() if cls is scope.owner), function.node.name)


def made_anew(function: Reading) -> Iterator[Finding]:
    """log_probs = torch.tensor(self.log_probs, requires_grad=True), and no other probability is spoken of."""
    for node in function.of(ast.Assign):
        call, name = node.value, path_of(node.targets[0]) or ""
        if not isinstance(call, ast.Call) or not makes_leaf(call) or not name.isidentifier():
            continue
        copied = copied_by(call, function.scope.dotted)
        path = path_of(copied) if copied is not None else None
        if path is None or not _LOG_PROBS.search(path.lower()) or is_factor(path.lower()) or function.arms(node):
            continue  # in a branch, it may be for those that have no graph: if not torch.is_tensor(log_probs)
        others = {word for word in _words_behind(node, function) if _OTHERS.search(word)}
        if others <= {name, *_WORD.findall(path)} and _is_computed_with(name, function) and are_idle(function):
            yield _told(function, call, f"{written(call.func)}(...) makes a new leaf of {path}")


def _words_behind(node: ast.Assign, function: Reading) -> Iterator[str]:
    """What is spoken of below it; above, what is made a leaf there may have been gathered."""
    last = node.end_lineno or node.lineno
    yield from (one.id for one in function.of(ast.Name) if one.lineno > last)
    yield from (one.attr for one in function.of(ast.Attribute) if one.lineno > last)


def _is_computed_with(name: str, function: Reading) -> bool:
    parts = (part for one in function.of(ast.BinOp) for part in below(one))
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _returning(function: Reading, *, is_module: bool) -> Iterator[Finding]:
    """Loss functions all of whose results were cut off, but for the numbers that they return of an empty batch."""
    values = [back.value for back in function.of(ast.Return) if back.value is not None and not _is_number(back.value)]
    if not values or not function.scope.parameters or any(isinstance(value, ast.Tuple) for value in values):
        return
    if _goes_backward(function):
        return
    cut = _Given(function)
    if any(cut.of(value) is not Has.LOST for value in values):
        return
    if cut.revived:
        yield _told(function, values[-1], "the loss is made a new leaf")
    elif (
        is_module
        and len(function.scope.parameters) > _ALONE
        and not _is_told(function)
        and all(_Followed(function).of(value) is Has.MAYBE for value in values)
    ):
        yield _told(function, values[-1], "all that the loss is made of is detached, or computed under no_grad()")


def _goes_backward(function: Reading) -> bool:
    """A closure that has gone backward itself returns the loss as a number, in whatever form it is wanted."""
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "backward" for call in function.of(ast.Call))


def _is_number(value: ast.expr) -> bool:
    """torch.tensor(0.0, requires_grad=True)"""
    parts = [part for part in below(value) if isinstance(part, ast.Name)]
    return {part.id for part in parts} <= {"torch", "self", "device"} and any(
        isinstance(part, ast.Constant) and part.value == 0 for part in below(value)
    )


def _is_told(function: Reading) -> bool:
    """return loss.detach(), or the whole of it under no_grad(): somebody else goes backward."""
    cut = [one.value for one in function.of(ast.Attribute) if one.attr == "detach"]
    quiet = any(holds(block, back) for block in quiet_parts(function) for back in function.of(ast.Return))
    return quiet or any(is_term((path_of(one) or "").lower()) for one in cut)


class _Given(Cut):
    """A loss function, whose arguments are what a model returned."""

    def _is_learned(self, node: ast.expr) -> bool:
        every, pending, seen = definitions_of(self._function).every, [node], set[str]()
        for value in pending:  # it grows on the way
            names = {part.id for part in below(value) if isinstance(part, ast.Name)} - seen
            seen |= names
            pending += [one.value for name in names for one in every(name)] if len(seen) < _FEW else []
        given = set(self._function.scope.parameters) - {"self"}
        return not seen.isdisjoint(given) or super()._is_learned(node)

    def _inside(self, function: Function, given: Mapping[str, ast.expr]) -> Cut:
        return type(self)(reading_of(function, self._function.file), self._deep - 1, given, self)


class _Followed(_Given):
    """The same without its detach() and no_grad()."""

    def __init__(
        self,
        function: Reading,
        deep: int = 3,
        given: Mapping[str, ast.expr] | None = None,
        outer: Cut | None = None,
    ) -> None:
        super().__init__(function, deep, given, outer)
        self._quiet = []

    def _cuts(self, call: ast.Call, func: ast.Attribute) -> bool:
        return func.attr != "detach" and super()._cuts(call, func)


def _told(function: Reading, node: ast.expr, why: str) -> Finding:
    found = note(REGISTRY["ZG003"], function.site(node), certain=True, step=written(node))
    return found._replace(
        message=f"{why}: backward() stops there, and nothing that it was computed from gets a gradient",
        cure="leave its graph on: compute it with torch, and detach() only what shall not learn",
    )
