"""What the tests of one function ask: for the place in a window, or for something that is asked again elsewhere."""

import ast
import re
from collections import Counter
from functools import cached_property

from zerograd.source.counting.born import born_with
from zerograd.source.counting.counters import Guard, read_guard, read_start, settled, start_key
from zerograd.source.counting.loops import windows_of
from zerograd.source.counting.ones import is_one, is_refused_here
from zerograd.source.counting.origins import Origin, Origins
from zerograd.source.counting.tests import All, Atom, Not, Test, questions_in, read_test
from zerograd.source.names.scopes import FunctionNode, Scope
from zerograd.source.text.nodes import Nodes, below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

# How frameworks call the counter that they hand to a function they call once per batch.
_BATCH_INDICES = frozenset({"batch_idx", "batch_index", "batch_nb", "batch_i"})
_BROKEN = pattern(r"nan\b|isnan|(?<!in)finite|isinf|overflow", re.IGNORECASE)


class Questions:
    def __init__(self, function: ast.Module | FunctionNode, own: Nodes, scope: Scope) -> None:
        called = function if isinstance(function, ast.FunctionDef) else None
        self._origins = Origins(own, called, lambda size: is_one(size, scope, own), lambda path: born_with(path, scope))
        if isinstance(function, ast.FunctionDef):
            for name in _BATCH_INDICES & set(scope.parameters):
                self._origins.add(name, Origin(function, 0))
        self._own = own
        self._windows = windows_of(own, self._origins, scope)
        self._branches = own.of(ast.If)
        self._parameters = frozenset(scope.parameters)
        self._counted: list[ast.For | ast.AsyncFor] = [*own.of(ast.For), *own.of(ast.AsyncFor)]
        self._unplaced = self._torn(own)

    def _torn(self, own: Nodes) -> set[tuple[ast.AST | None, str]]:
        """Windows of which nobody can say where they begin, and that are asked about in two ways, or before something
        is counted and again behind it: the two guards are not one."""
        asked: dict[tuple[ast.AST | None, str], list[tuple[int, int]]] = {}
        for node in own.of(ast.If) if self._windows else ():
            guard = read_guard(node.test, self._origins)
            if guard is not None and guard.phase is None:
                asked.setdefault((guard.loop, guard.size), []).append((self._asked_at(node), guard.asks))
        return {
            window
            for window, times in asked.items()
            if len({asks for _, asks in times}) > 1
            or any(min(times)[0] < line < max(times)[0] for line in self._origins.moved)
        }

    def _asked_at(self, branch: ast.If) -> int:
        """The line where a counter is asked: for a flag, where that is made."""
        named = {part.id for part in below(branch.test) if isinstance(part, ast.Name)} if self._origins.flags else set()
        made = [flag.lineno for name, flag in self._origins.flags.items() if name in named]
        return min([branch.lineno, *made])

    def windows(self, loop: ast.AST) -> tuple[str, ...]:
        """The sizes of the windows that a loop is cut into."""
        return tuple(sorted(size for other, size in self._windows if other is loop))

    def read(self, test: ast.expr, gate: str, *, decides: bool, leads_away: bool) -> tuple[Test | None, Guard | None]:
        """What a test asks. An answer that decides nothing but a doubt is not worth remembering; one that leads away is
        where it is asked again: `if whole: continue`, and behind the loop `if whole: optimizer.step()`."""
        guard = read_guard(test, self._origins)
        question = self._place(guard) or _gate(test, gate)
        again = decides or (leads_away and (self._is_asked_again(test) or self._is_told(test) or self._is_flag(test)))
        if question is None and guard is None and again:
            question = self._start(test) or read_test(test)
        return question, guard

    def holds_at_one(self, node: ast.Assert) -> bool:
        """Whether behind an assertion every group is one of a single micro-batch."""
        return bool(self._windows) and is_refused_here(node, (size for _, size in self._windows))

    def settled(self, test: ast.expr) -> bool | None:
        """The answer of a test that nothing can change."""
        return settled(test, self._origins) if self._origins.asked else None

    def _is_told(self, test: ast.expr) -> bool:
        """if not last: return, of a function that its caller tells."""
        asked = _without_not(test)
        return isinstance(asked, ast.Name) and asked.id in self._parameters

    def _is_flag(self, test: ast.expr) -> bool:
        """if not stepped: continue, of a name that was set to True where the step was taken."""
        asked = _without_not(test)
        return isinstance(asked, ast.Name) and asked.id in self._set

    @cached_property
    def _set(self) -> frozenset[str]:
        """The names that are set to True or False."""
        values = ((one, one.value) for one in self._own.of(ast.Assign))
        told = [one for one, value in values if isinstance(value, ast.Constant) and isinstance(value.value, bool)]
        return frozenset(target.id for one in told for target in one.targets if isinstance(target, ast.Name))

    def _is_asked_again(self, test: ast.expr) -> bool:
        return any(self._times[key] > 1 for key in questions_in(read_test(test)))

    @cached_property
    def _times(self) -> Counter[str]:
        """How often each question is asked."""
        return Counter(key for node in self._branches for key in questions_in(read_test(node.test)))

    def _start(self, test: ast.expr) -> Test | None:
        """`if i == 0:`, `if i > 0:`, `if not i:` of a loop that counts from 0."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._start(test.operand)
            return None if inner is None else Not(inner)
        asked = read_start(test, self._counted)
        if asked is None:
            return None
        loop, at_start = asked
        return Atom(start_key(loop)) if at_start else Not(Atom(start_key(loop)))

    def _place(self, guard: Guard | None) -> Test | None:
        """A counter's guard as a question about the place in the window. Where a counter began does not matter to a
        window that is named for what it is: the guard's own micro-batch is its last."""
        if guard is None or (guard.loop, guard.size) not in self._windows:
            return None
        if guard.phase is None and (not guard.accumulates or (guard.loop, guard.size) in self._unplaced):
            return None
        if guard.phase not in (0, -1, None):
            return None
        question: Test = Atom(guard.key)
        if guard.conjoined:
            question = All((question, None))
        return Not(question) if guard.negated else question


def _without_not(test: ast.expr) -> ast.expr:
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test


def _gate(test: ast.expr, gate: str) -> Test | None:
    """`if accelerator.sync_gradients:` asks whether this is the last micro-batch of Accelerate's window; beside other
    questions as well: `if clip and accelerator.sync_gradients:`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and gate:
        asked = [_gate(part, gate) for part in test.values]
        others = [one or read_test(part) for one, part in zip(asked, test.values, strict=True)]
        return All(tuple(others)) if any(asked) else None
    asks = bool(gate) and (path_of(test) or "").endswith((".sync_gradients", ".should_sync"))
    return Atom(gate) if asks else None


def asks_for_nan(test: ast.expr) -> bool:
    return _BROKEN.search(written(test)) is not None


def asks_only_for_nan(test: ast.expr) -> bool:
    """not (isnan(loss) or isinf(loss)); and nothing else that would be another reason not to step."""
    if isinstance(test, ast.UnaryOp):
        return asks_only_for_nan(test.operand)
    if isinstance(test, ast.BoolOp):
        return all(map(asks_only_for_nan, test.values))
    return asks_for_nan(test) and any(isinstance(part, ast.Call | ast.Compare) for part in below(test))  # no setting


def chooses(test: ast.expr, parameter: str) -> bool:
    """Whether a test picks some parameters: anything but asking whether this one has a gradient."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return any(f"{parameter}.grad" not in written(part) for part in parts)
