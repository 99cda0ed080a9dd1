"""Python statements to skeletons: control flow is kept, everything that is no event falls away."""

import ast
from collections.abc import Iterable, Iterator

from zerograd.core.events import Kind, Site
from zerograd.core.facts import ALL_DOUBTS, NOTHING_ASSUMED, Assumptions, Doubts
from zerograd.source.counting.loops import has_gate, inside
from zerograd.source.counting.pacing import only_moves
from zerograd.source.counting.questions import asks_only_for_nan
from zerograd.source.counting.tests import changed_by, decide, read_test
from zerograd.source.counting.turns import turns_of
from zerograd.source.lowering.adjoining import adjoined
from zerograd.source.lowering.byhand import read_assignment, read_deletion
from zerograd.source.lowering.expressions import Expressions
from zerograd.source.lowering.made import made_anew, picked_out
from zerograd.source.lowering.measuring import of_round, without_clips
from zerograd.source.lowering.parted import is_context, is_run_around, is_run_in_parts
from zerograd.source.lowering.skeleton import (
    Attempt,
    Block,
    Blur,
    Choice,
    Forget,
    Jump,
    Loop,
    Node,
    going_on,
)
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import ENDINGS

_REST: Doubts = frozenset({Kind.DEPOSIT})
_GATE = "last@{}%accumulate"
_SIMPLE = frozenset({ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Assert, ast.Delete})
# What only makes names; functions do something when they are called.
_SILENT = frozenset({ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_SILENT |= {ast.Global, ast.Nonlocal, ast.Pass}
_ASSIGNMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class FunctionLowering(Expressions):
    """Lowers one function."""

    _turn: Assumptions = NOTHING_ASSUMED  # what is so in this round of a loop over a few words

    def whole(self, statements: list[ast.stmt]) -> Block:
        """The function. One that is handed the batch's index is called once per batch: its body is that loop's."""
        body = self.block(statements)
        if is_run_around(self._function, self._scope):
            body = (Blur(ALL_DOUBTS), *body, Blur(ALL_DOUBTS))
        windows = self._questions.windows(self._function)
        return (Loop(going_on(body), endless=True, node=self._function, windows=windows),) if windows else body

    def block(self, statements: Iterable[ast.stmt]) -> Block:
        nodes: list[Node] = []
        alone: list[Node] = []  # behind an assertion that every group is one of a single micro-batch: all may be done
        for statement in statements:
            kind = statement.__class__
            if kind in _SILENT:
                continue
            if kind in _SIMPLE:
                nodes += self._simple(statement)
                if isinstance(statement, ast.Assert) and self._questions.holds_at_one(statement):
                    nodes += (alone := [Blur(ALL_DOUBTS)])
            else:
                made = list(self._statement(statement))
                nodes += [Blur(_REST), *made] if _asks_for_rest(made, nodes) else made
            if nodes and isinstance(nodes[-1], Jump):
                alone = []
                break  # nothing behind a jump is ever run
        return adjoined([*nodes, *alone])

    def _statement(self, node: ast.stmt) -> Iterator[Node]:
        match node:
            case ast.If(test=test) if (answer := self._answer(test)) is not None:
                yield from self._events(test)
                yield from self.block(node.body if answer else node.orelse)
            case ast.If(test=ast.BoolOp(op=ast.And(), values=tests), orelse=[]) if self._deposited and _is_mixed(tests):
                yield from self._statement(_nested(node, tests))
            case ast.If(test=test, body=body, orelse=orelse):
                yield from self._events(test)
                outer, self._asked = self._asked, (*self._asked, test)
                arms = self.block(body), self.block(orelse)
                self._asked = outer
                yield from self._choice(test, *arms)
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from self._loop(node)
            case ast.Try() | ast.TryStar():
                yield from self._try(node)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    yield from self._events(item.context_expr)
                around = [Blur(ALL_DOUBTS) for item in items if is_context(item.context_expr, self._scope)]
                yield from around
                yield from self.block(body)
                yield from around
            case ast.Match(subject=subject, cases=cases):
                yield from self._events(subject)
                yield from self._match(cases)
            case ast.Break():
                yield Jump("break")
            case ast.Continue():
                yield Jump("continue")
            case ast.Return():
                yield from self._events(node)
                yield Jump("return")
            case ast.Raise():
                yield from self._events(node)
                yield Jump("raise")
            case _:
                yield from self._simple(node)

    def _answer(self, test: ast.expr) -> bool | None:
        """What a test answers in this round of a loop over a few words."""
        return decide(read_test(test), self._turn) if self._turn else None

    def _simple(self, node: ast.stmt) -> list[Node]:
        if isinstance(node, ast.Expr):
            found = self._events(node.value)
            if isinstance(node.value, ast.Call) and path_of(node.value.func) in ENDINGS:
                found.append(Jump("raise"))
            return found
        if isinstance(node, _ASSIGNMENTS):
            return self._assignment(node)
        found = self._events(node)
        if isinstance(node, ast.Delete):
            found += read_deletion(node, self._path, self._reaches_some)
        return found

    def _assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> list[Node]:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        name = target.id if isinstance(target, ast.Name) else None  # of most: nothing but the value may be an event
        value = node.value
        found = self._events(node if name is None or value is None else value)
        if name is None:
            made = read_assignment(node, self._path, self._reaches_some)
            found += self._at_inputs(node, made) if self._inputs else made
        if target is not None and isinstance(value, ast.Call):
            found += made_anew(target, value, self._scope, self._calls)
        if name is not None and "opt" in name and isinstance(value, ast.Subscript | ast.Call):
            found += picked_out(name, value, self._own, self._scope, self._calls)
        elif isinstance(value, ast.Attribute) and value.attr == "backward":
            found.append(Blur(_REST))  # run = loss.backward: whoever has it may run it
        if name is None or name in self._keys:
            found += self._forget(node)
        return found

    def _forget(self, node: ast.AST) -> list[Node]:
        """What is assigned may change the answer of a test that will be asked again."""
        keys = changed_by(node, self._keys) if self._keys else None
        return [Forget(keys)] if keys else []

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> Iterator[Node]:
        if not self._deposited and only_moves(node, lambda path: self._calls.is_scheduler(path, self._scope)):
            yield Blur(ALL_DOUBTS)
            return
        head: list[Node] = []
        endless = False
        if isinstance(node, ast.While):
            head += self._events(node.test)
            endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        else:
            yield from self._events(node.iter)
            head += self._forget(node)
            head += [Blur(ALL_DOUBTS)] if is_run_in_parts(node.iter, self._scope) else []
        if isinstance(node, ast.For) and not node.orelse and not any(isinstance(one, ast.If) for one in node.body):
            each_alone = self._one_by_one(node.target, node.iter, lambda: self.block(node.body))
            if each_alone:
                yield from each_alone
                return
        if turns := turns_of(node, self._keys):
            yield from self._in_turns(node, turns)
            return
        each = {} if isinstance(node, ast.While) else self._enter(node.target, node.iter)
        outer, self._scope.elements = self._scope.elements, {**self._scope.elements, **each}
        innermost = (
            self._has_gates
            and has_gate(node)
            and not any(isinstance(inner, _LOOPS) and has_gate(inner) for inner in inside(node))
        )
        gate, self._gate = self._gate, _GATE.format(id(node)) if innermost else self._gate
        asked, self._asked = self._asked, ()
        deposited, self._deposited = self._deposited, False
        body = without_clips((*head, *self.block(node.body)), node, self._function, self._own, self._calls.is_idle)
        self._gate, self._asked, self._deposited = gate, asked, deposited
        self._scope.elements = outer
        orelse = self.block(node.orelse)
        if body or orelse or endless:
            gates = ("accumulate",) if innermost else ()
            windows = (*self._questions.windows(node), *gates)
            site = Site(self._path, node.lineno, node.col_offset + 1)
            yield Loop(body, orelse, endless, self._each(each, body, node), node, windows, site)

    def _in_turns(self, node: ast.For | ast.AsyncFor | ast.While, turns: list[str]) -> Iterator[Node]:
        outer, asked, deposited = self._turn, self._asked, self._deposited
        for turn in turns:
            told: Assumptions = frozenset({(turn, True)})
            self._turn, self._asked, self._deposited = outer | told, (), False
            yield Forget(changed_by(node, self._keys))
            yield from of_round(self.block(node.body))
        self._turn, self._asked, self._deposited = outer, asked, deposited

    def _try(self, node: ast.Try | ast.TryStar) -> Iterator[Node]:
        body = self.block(node.body)
        attempt = Attempt(
            body,
            tuple(self.block(handler.body) for handler in node.handlers),
            self.block(node.orelse),
            self.block(node.finalbody),
        )
        if any((attempt.body, *attempt.handlers, attempt.orelse, attempt.final)):
            yield attempt

    def _match(self, cases: list[ast.match_case]) -> Block:
        if not cases:
            return ()
        first, *others = cases
        body = self.block(first.body)
        irrefutable = first.guard is None and isinstance(first.pattern, ast.MatchAs) and first.pattern.pattern is None
        rest = () if irrefutable else self._match(others)
        return body if irrefutable or not (body or rest) else (Choice(body, rest),)


def _asks_for_rest(made: list[Node], before: list[Node]) -> bool:
    """if (i + 1) % N != 0, behind the loop: it steps if a group is left, and only then."""
    last = made[-1] if made else None
    guard = last.guard if isinstance(last, Choice) else None
    return guard is not None and guard.phase is None and any(isinstance(one, Loop) for one in before)


def _is_mixed(tests: list[ast.expr]) -> bool:
    """isfinite(loss) and i % N == 0: two questions, of which the first has its own answer to what comes next."""
    return any(map(asks_only_for_nan, tests)) and not all(map(asks_only_for_nan, tests))


def _nested(node: ast.If, tests: list[ast.expr]) -> ast.If:
    """The same as two branches, one in the other: whether it is NaN is asked first."""
    outer, inner = ([test for test in tests if asks_only_for_nan(test) is nan] for nan in (True, False))
    within = ast.copy_location(ast.If(_all(inner), node.body, []), node)
    return ast.copy_location(ast.If(_all(outer), [within], []), node)


def _all(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), tests[0])
