"""What a loss is made of: whether something divides it, and by what.

Names are followed through the assignments of their function. The answers are cautious: only a loss of which every part
is plainly a mean is "not divided"; whatever cannot be read may be.
"""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from zerograd.source.counting.divisors import counts, divides, divides_by_what_it_is_told, is_weighted_mean
from zerograd.source.counting.ones import is_one
from zerograd.source.counting.summands import adds_to, summands, terms_of, undivided
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_LOSS = pattern(r"loss(?!.*f(n|ct|unc))(?<!compute_loss)")  # a value, no function that makes one
_SUMMED = pattern(r"(^|[._])(sum|div_?|mul_?|true_divide|scale|normali[sz]e\w*|average\w*|weighted\w*)$")
_TELLING = {"gradient_accumulation_steps", "gradient_accumulation_plugin", "deepspeed_plugin", None}  # None: **settings
_DEPTH = 4
_FEW = 8  # assignments of one name that are followed: nobody's loss has more, and a tangle's thousands take seconds


def loss_of(call: ast.Call) -> ast.expr | None:
    """The loss of `loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`, also by name."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return None
    if call.args and path_of(func.value) is not None:
        return call.args[0]
    for keyword in call.keywords:
        if keyword.arg == "loss":
            return keyword.value
    match func.value:
        case ast.Call(func=ast.Attribute(attr="scale"), args=[loss, *_]):
            return loss
    return func.value


def _is_accelerator(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and (path_of(value.func) or "").rpartition(".")[2] == "Accelerator"


def _is_told(value: ast.expr) -> bool:
    """Of a number of micro-batches, or of something that cannot be read."""
    named = {keyword.arg for keyword in value.keywords} if isinstance(value, ast.Call) else set()
    return not named.isdisjoint(_TELLING)


class Losses:
    """The assignments of one function, by name. Of several, those in the loop around the use count, if any."""

    def __init__(self, nodes: Nodes, scope: Scope) -> None:
        self.scope = scope
        self.owner = scope.owner  # the class whose method it is
        self._nodes = nodes
        self._loops = [*nodes.of(ast.For), *nodes.of(ast.AsyncFor), *nodes.of(ast.While)]
        self._around: tuple[int, int] = (0, 0)
        self._line = 0  # what is made behind it in the same iteration comes too late
        self._handed = True

    def is_one(self, size: str) -> bool:
        """Whether the number of micro-batches in a group is 1, or refused: then there are no groups."""
        return is_one(size, self.scope, self._nodes)

    @cached_property
    def _all_made(self) -> dict[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        made: list[ast.Assign | ast.AnnAssign] = [*self._nodes.of(ast.Assign), *self._nodes.of(ast.AnnAssign)]
        for node in sorted(made, key=lambda node: (node.lineno, node.col_offset)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for element in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                    path = path_of(element)
                    if path and node.value is not None:
                        found.setdefault(path, []).append(node.value)
        for item in self._nodes.of(ast.withitem):
            match item:  # with amp.scale_loss(loss, optimizer) as scaled: the loss under another name
                case ast.withitem(context_expr=ast.Call(func=func, args=[loss, *_]), optional_vars=ast.Name(id=name)):
                    if (path_of(func) or "").endswith("scale_loss"):
                        found.setdefault(name, []).append(loss)
        return found

    @cached_property
    def untold(self) -> frozenset[str]:
        """The Accelerators that are made here and not told of any accumulation: their backward() divides by 1."""
        if any("deepspeed" in dotted.lower() for dotted in self.scope.module.imports.values()):
            return frozenset()  # whose own config may tell them
        made = {path: values for path, values in self._all_made.items() if all(map(_is_accelerator, values))}
        return frozenset(path for path, values in made.items() if not any(map(_is_told, values)))

    @cached_property
    def _all_changed(self) -> dict[str, list[ast.AugAssign]]:
        found: dict[str, list[ast.AugAssign]] = {}
        for change in self._nodes.of(ast.AugAssign):
            found.setdefault(path_of(change.target) or "", []).append(change)
        return found

    def _at(self, loss: ast.expr) -> None:
        """Look from here: the innermost loop around the loss."""
        self._line = loss.end_lineno or loss.lineno
        spans = [(loop.lineno, loop.end_lineno or loop.lineno) for loop in self._loops]
        self._around = max((span for span in spans if span[0] <= loss.lineno <= span[1]), default=(0, 0))

    def _made(self, path: str) -> list[ast.expr]:
        every = self._all_made.get(path, [])
        near = [value for value in every if self._around[0] <= value.lineno <= self._around[1]]
        before = [value for value in near if value.lineno <= self._line]
        return (before or near or every)[-_FEW:]

    def _changed(self, path: str) -> list[ast.AugAssign]:
        every = self._all_changed.get(path, [])
        first, last = self._around
        if self._is_made_before(path):
            last = self._line
        near = [change for change in every if first <= change.lineno <= last]
        return (near if self._around != (0, 0) else every)[-_FEW:]

    def _is_made_before(self, path: str) -> bool:
        """Whether the iteration makes it anew before it is used: what the last one did with it is gone."""
        return any(self._around[0] <= value.lineno <= self._line for value in self._all_made.get(path, ()))

    def _sums(self, change: ast.AugAssign) -> bool:
        """`loss += ...` in a loop of its own: a sum over the items of the micro-batch, not a mean."""
        return any(
            self._around[0] < loop.lineno <= change.lineno <= (loop.end_lineno or loop.lineno) <= self._around[1]
            for loop in self._loops
        )

    def divided_by(self, loss: ast.expr | None, named: re.Pattern[str]) -> str | None:
        """What the loss, or a part of it, is divided by, if it is named so."""
        if not self.may_divide_by(named):
            return None
        return next((by for by in self.divisors(loss) if named.search(by.lower())), None)

    def may_divide_by(self, named: re.Pattern[str]) -> bool:
        """Whether anything here is divided by what is named so: mostly not, and then no loss has to be followed."""
        return bool(self._nodes.of(ast.Lambda)) or any(named.search(by.lower()) for by in self._all_divisors)

    @cached_property
    def _all_divisors(self) -> list[str]:
        """Everything that anything in this function is divided by, outside its lambdas."""
        divided: list[ast.BinOp | ast.AugAssign] = [*self._nodes.of(ast.BinOp), *self._nodes.of(ast.AugAssign)]
        divisions = [node for node in divided if isinstance(node.op, ast.Div)]
        calls = [call.args[0] for call in self._nodes.of(ast.Call) if call.args and divides(call.func)]
        sides = (node.right if isinstance(node, ast.BinOp) else node.value for node in divisions)
        return [written(by) for by in (*sides, *calls)]

    def divisors(self, loss: ast.expr | None) -> list[str]:
        """Everything the loss, or a part of it, is divided by, as it is written."""
        if loss is None:
            return []
        self._at(loss)
        return list(self._divisors(loss, frozenset(), 0))

    def _divisors(self, node: ast.expr, seen: frozenset[str], depth: int) -> Iterator[str]:
        for part in below(node):
            match part:
                case ast.BinOp(op=ast.Div(), right=right):
                    yield written(right)
                case ast.Call(func=func, args=[by, *_]) if divides(func):
                    yield written(by)
            path = path_of(part)
            if path and path not in seen and depth < _DEPTH:
                for change in self._changed(path):
                    if isinstance(change.op, ast.Div):
                        yield written(change.value)
                for value in self._made(path):
                    yield from self._divisors(value, seen | {path}, depth + 1)

    def adds_up(self, loss: ast.expr | None) -> bool:
        """Whether something on the loss's way may be a sum over iterations: `total += loss`, `losses.append(loss)`."""
        pending, seen = [loss] if loss is not None else [], set[str]()
        while pending:
            for part in undivided(pending.pop()):
                path = path_of(part)
                if path and path not in seen:
                    seen.add(path)
                    made = self._all_made.get(path, [])
                    grows = any(isinstance(change.op, ast.Add) for change in self._all_changed.get(path, ()))
                    if grows or any(adds_to(path, value) for value in made) or path in self._collected:
                        return True
                    pending += made[-_FEW:]
        return False

    @cached_property
    def _collected(self) -> set[str | None]:
        """What something is appended to."""
        calls = (call.func for call in self._nodes.of(ast.Call))
        return {path_of(func.value) for func in calls if isinstance(func, ast.Attribute) and func.attr == "append"}

    def may_be_normalised(self, loss: ast.expr | None, *, handed: bool = True) -> bool:
        """Whether something on the loss's way may divide it, weigh it, or sum instead of averaging. `handed`: what the
        function was handed may have been divided before."""
        if loss is None:
            return True
        self._at(loss)
        self._handed = handed
        return self._may(loss, frozenset(), 0)

    def _may(self, node: ast.expr, seen: frozenset[str], depth: int) -> bool:
        match node:
            case ast.BinOp(
                left=ast.Call(func=ast.Name(id="sum"), args=[parts]),
                op=ast.Div(),
                right=ast.Call(func=ast.Name(id="len"), args=[counted]),
            ) if path_of(parts) is not None and path_of(parts) == path_of(counted):
                return self._may(parts, seen, depth)  # the mean of the parts of one micro-batch
            case ast.BinOp(op=ast.Div()) if is_weighted_mean(node):
                return False
            case ast.BinOp(op=ast.Div()):
                return True
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                # A weight between losses is no mean over micro-batches; a name that counts something is.
                return any(counts(side) for side in (left, right)) or self._any([left, right], seen, depth)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._may_sum(node, seen, depth)
            case ast.BinOp(left=left, right=right):
                return self._any([left, right], seen, depth)
            case ast.Call(func=func):
                return self._may_call(node, func, seen, depth)
            case ast.Constant():
                return False
            case ast.Subscript(value=value):
                return self._may_item(node, path_of(value) or "", seen, depth) or self._may(value, seen, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return self._any([body, orelse], seen, depth)
            case ast.Tuple(elts=elements):
                return self._any(elements, seen, depth)
            case ast.Name() | ast.Attribute():
                return self._may_name(node, seen, depth)
        return True

    def _may_item(self, node: ast.expr, keeper: str, seen: frozenset[str], depth: int) -> bool:
        """losses["main"], where that or each of them was divided: losses[key] = loss / n."""
        paths = {path_of(node) or "", f"{keeper}[*]"} - seen if keeper and depth < _DEPTH else set()
        made = [value for path in paths for value in self._made(path)]
        changed = [change for path in paths for change in self._changed(path)]
        divided = any(isinstance(change.op, ast.Div) for change in changed)
        return divided or any(self._may(value, seen | paths, depth + 1) for value in made)

    def _may_sum(self, node: ast.expr, seen: frozenset[str], depth: int) -> bool:
        """A sum is divided only if all of it is: a weight at one of its parts says nothing about the others."""
        parts = [part for part in summands(node) if not isinstance(part, ast.Constant) and path_of(part) not in seen]
        return bool(parts) and all(self._may(part, seen, depth) for part in parts)

    def _any(self, nodes: list[ast.expr], seen: frozenset[str], depth: int) -> bool:
        return any(self._may(node, seen, depth) for node in nodes)

    def _may_call(self, call: ast.Call, func: ast.expr, seen: frozenset[str], depth: int) -> bool:
        name = path_of(func) or (func.attr if isinstance(func, ast.Attribute) else "")
        terms = terms_of(call)
        if terms is not None:
            return self._may(terms, seen, depth)
        if _SUMMED.search(name) or any(keyword.arg == "reduction" for keyword in call.keywords):
            return True
        if name.endswith("mean"):
            return False  # whatever is inside: it is a mean over this micro-batch
        if any(self._is_told(argument) for argument in (*call.args, *(keyword.value for keyword in call.keywords))):
            return True
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call | ast.BinOp):
            return self._may(func.value, seen, depth)
        inner = [one.args[0] if isinstance(one, ast.Call) and one.args else one for one in call.args]
        if self._any([one for one in inner if _LOSS.search((path_of(one) or "").lower())], seen, depth):
            return True  # cast(Tensor, scaler.scale(loss)), reduced(loss)
        function = self.scope.function(name) if name else None
        return function is not None and divides_by_what_it_is_told(function)

    def _is_told(self, argument: ast.expr) -> bool:
        """Whether something divided rides along: batch["scale"] = 1 / (count * n); loss = model(**batch)."""
        path = path_of(argument.value if isinstance(argument, ast.Starred) else argument)
        inside = (f"{path}[", f"{path}.")
        made = [value for name, values in self._all_made.items() if name.startswith(inside) for value in values]
        return path is not None and any(
            isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) for value in made for part in below(value)
        )

    def _may_name(self, node: ast.expr, seen: frozenset[str], depth: int) -> bool:
        path = path_of(node)
        if path is None and isinstance(node, ast.Attribute) and depth < _DEPTH:  # model(x).loss
            return self._may(node.value, seen, depth + 1)
        if path is None or depth >= _DEPTH:
            return True
        if path in seen:
            return False
        changes = self._changed(path)
        if any(isinstance(change.op, ast.Div | ast.Mult) or self._sums(change) for change in changes):
            return True
        made = self._made(path)
        if not made:
            if isinstance(node, ast.Attribute):  # outputs.loss
                return self._may(node.value, seen | {path}, depth + 1)
            return self._handed  # made elsewhere
        # `loss = loss + more` adds to what was there: whether that was divided, the other assignments tell.
        begun = [value for value in made if not isinstance(value, ast.Constant) and not adds_to(path, value)]
        return any(self._may(value, seen | {path}, depth + 1) for value in begun or made)
