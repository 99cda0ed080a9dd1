"""Python statements to skeletons: control flow is kept, everything that is no event falls away."""

import ast
from collections.abc import Iterable, Iterator

from zerograd.core.events import Kind
from zerograd.source.byhand import read_assignment
from zerograd.source.calls import CallReader, site_of
from zerograd.source.loops import accumulates, elements, has_gate, inside, picked
from zerograd.source.losses import loss_of
from zerograd.source.nodes import LEAVES, READ, Nodes
from zerograd.source.questions import Questions, asks_for_nan, chooses, takes_all
from zerograd.source.reach import Reach
from zerograd.source.roles import role_of
from zerograd.source.scales import deposits_scaled
from zerograd.source.scopes import FunctionNode, Role, Scope, path_of
from zerograd.source.skeleton import (
    Act,
    Attempt,
    Block,
    Blur,
    Call,
    Choice,
    Create,
    Forget,
    Jump,
    Loop,
    Node,
    going_on,
    walk,
)
from zerograd.source.tests import Atom, changed_by, keys_of, learned_from

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_ENDINGS = ("sys.exit", "os._exit", "exit", "quit")
_GATE = "last@{}%accumulate"
_SCALE, _GATED = frozenset({Kind.UNSCALE}), (Kind.CONSUME, Kind.CLEAR, Kind.SCHEDULE)
_BRANCHING = frozenset(
    {ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
    | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda}  # run when they are called
)
_SIMPLE = frozenset({ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Pass, ast.Assert, ast.Delete})
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class FunctionLowering:
    """Lowers one function: what its tests and counters mean is a matter of the whole of it."""

    def __init__(
        self,
        function: ast.Module | FunctionNode,
        own: Nodes,
        scope: Scope,
        calls: CallReader,
        path: str,
        reach: Reach | None = None,
    ) -> None:
        self._reach = reach
        self._function, self._scope, self._calls, self._path = function, scope, calls, path
        self._keys = keys_of(own)
        self._questions = Questions(function, own, scope)
        self._has_gates = any(accumulates(item.context_expr) for item in own.of(ast.withitem))
        self._deposited = False  # in this iteration of the loop we are in
        self._asked: tuple[ast.expr, ...] = ()  # the tests we are under, inside this loop
        self._gate = ""  # the question that Accelerate asks, in a loop with `with accelerator.accumulate(model):`

    def whole(self, statements: list[ast.stmt]) -> Block:
        """The function. One that is handed the batch's index is called once per batch: its body is that loop's."""
        body = self.block(statements)
        windows = self._questions.windows(self._function)
        return (Loop(going_on(body), endless=True, node=self._function, windows=windows),) if windows else body

    def block(self, statements: Iterable[ast.stmt]) -> Block:
        nodes: list[Node] = []
        for statement in statements:
            nodes += self._simple(statement) if statement.__class__ in _SIMPLE else self._statement(statement)
            if nodes and isinstance(nodes[-1], Jump):
                break  # nothing behind a jump is ever run
        return tuple(nodes)

    def _statement(self, node: ast.stmt) -> Iterator[Node]:
        match node:
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
                yield from self.block(body)
            case ast.Match(subject=subject, cases=cases):
                yield from self._events(subject)
                yield from self._match(cases)
            case ast.Break():
                yield Jump("break")
            case ast.Continue():
                if self._deposited and any(map(asks_for_nan, self._asked)):
                    yield self._abandon(node)
                yield Jump("continue")
            case ast.Return():
                yield from self._events(node)
                yield Jump("return")
            case ast.Raise():
                yield from self._events(node)
                yield Jump("raise")
            case _:
                yield from self._simple(node)

    def _simple(self, node: ast.stmt) -> list[Node]:
        found = self._events(node)
        match node:
            case ast.Expr(value=ast.Call(func=func)) if path_of(func) in _ENDINGS:
                found.append(Jump("raise"))
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                found += read_assignment(node, self._path, self._reaches_some)
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Call):
                    path = path_of(node.targets[0])
                    found += [Create(path)] if path and self._makes_optimizer(path, node.value) else []
                found += self._forget(node)
        return found

    def _makes_optimizer(self, path: str, call: ast.Call) -> bool:
        """An optimizer's name is bound anew: to a new optimizer, unless it wraps the old one."""
        binding = role_of(call, self._scope)
        if binding is not None and binding.role is Role.OPTIMIZER:
            return True
        if not self._calls.is_optimizer(path, self._scope) or self._calls.is_harmless(call, self._scope):
            return False  # optimizer_path = os.path.join(folder, "optimizer.pt")
        return not any(path_of(part) == path for part in ast.walk(call))

    def _reaches_some(self, parameter: ast.expr) -> bool:
        """A clear by hand reaches all parameters only from a loop over them that chooses none."""
        return (
            any(map(chooses, self._asked)) or (path_of(parameter) or "").partition(".")[0] not in self._scope.elements
        )

    def _forget(self, node: ast.AST) -> Iterator[Node]:
        """What is assigned may change the answer of a test that will be asked again."""
        keys = changed_by(node, self._keys)
        if keys:
            yield Forget(keys, learned_from(node, keys))

    def _choice(self, test: ast.expr, body: Block, orelse: Block) -> Iterator[Node]:
        if body or orelse:
            decides = any(isinstance(node, (Act, Call)) for node in walk((*body, *orelse)))
            question, guard = self._questions.read(test, self._gate, decides=decides)
            if question is None and deposits_scaled(body) | deposits_scaled(orelse) == {True, False}:
                # Scaled or not, by a test whose answer cannot be kept: the next time it is the same all the same.
                body, orelse = (Blur(_SCALE), *body), (Blur(_SCALE), *orelse)
            yield Choice(body, orelse, question, guard, site_of(test, self._path))

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> Iterator[Node]:
        head: list[Node] = []
        endless = False
        if isinstance(node, ast.While):
            head += self._events(node.test)
            endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        else:
            yield from self._events(node.iter)
            head += self._forget(node)
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
        body = (*head, *self.block(node.body))
        self._gate, self._asked, self._deposited = gate, asked, deposited
        self._scope.elements = outer
        orelse = self.block(node.orelse)
        if body or orelse or endless:
            gates = ("accumulate",) if innermost else ()
            windows = (*self._questions.windows(node), *gates)
            yield Loop(body, orelse, endless, self._each(each, body, node), node, windows)

    def _try(self, node: ast.Try | ast.TryStar) -> Iterator[Node]:
        body = self.block(node.body)
        deposits = any(isinstance(act, Act) and act.kind is Kind.DEPOSIT for act in walk(body))
        attempt = Attempt(
            body,
            tuple(self._handler(handler, deposits) for handler in node.handlers),
            self.block(node.orelse),
            self.block(node.finalbody),
            any(takes_all(handler.type) for handler in node.handlers),
        )
        if any((attempt.body, *attempt.handlers, attempt.orelse, attempt.final)):
            yield attempt

    def _handler(self, handler: ast.ExceptHandler, deposits: bool) -> Block:
        """Where the exception struck, nobody knows: it may have left a gradient behind."""
        left = (self._abandon(handler)._replace(partial=True),) if deposits else ()
        return (*left, *self.block(handler.body))

    def _abandon(self, node: ast.stmt | ast.ExceptHandler) -> Act:
        what = "continue" if isinstance(node, ast.Continue) else "except"
        return Act(Kind.ABANDON, None, site_of(node, self._path), what)

    def _match(self, cases: list[ast.match_case]) -> Block:
        if not cases:
            return ()
        first, *others = cases
        body = self.block(first.body)
        irrefutable = first.guard is None and isinstance(first.pattern, ast.MatchAs) and first.pattern.pattern is None
        rest = () if irrefutable else self._match(others)
        return body if irrefutable or not (body or rest) else (Choice(body, rest),)

    def _events(self, node: ast.AST) -> list[Node]:
        """The events of an expression or a simple statement, in the order in which Python evaluates them."""
        found: list[Node] = []
        self._gather(node, found)
        return found

    def _gather(self, node: ast.AST, found: list[Node]) -> None:
        if node.__class__ not in _BRANCHING:
            self._gather_below(node, found)
            if isinstance(node, ast.Call):
                found += self._call(node)
            return
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._gather(test, found)
                found += self._choice(test, tuple(self._events(body)), tuple(self._events(orelse)))
            case ast.BoolOp(values=[first, *others]):
                self._gather(first, found)
                later = tuple(event for other in others for event in self._events(other))
                found += [Choice(later, ())] if later else []
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node, found)

    def _call(self, call: ast.Call) -> Iterator[Node]:
        for event in self._calls.read(call, self._scope):
            if isinstance(event, Act) and event.what.endswith(".zero_()"):
                parameter = event.what.removesuffix(".zero_()").removesuffix(".data").removesuffix(".grad")
                event = event._replace(partial=self._reaches_some(ast.Name(parameter.partition(".")[0])))
            yield from self._when_told(call, self._gated(self._traced(event)))

    def _gather_below(self, node: ast.AST, found: list[Node]) -> None:
        held = READ[node.__class__](node)
        for part in held if held.__class__ is tuple else (held,):
            if part.__class__ is list:
                for one in part:
                    if one.__class__ not in LEAVES:
                        self._gather(one, found)
            elif part.__class__ not in LEAVES:
                self._gather(part, found)

    def _traced(self, node: Node) -> Node:
        """A deposit, with the modules its loss is proved to reach."""
        if not isinstance(node, Act) or node.kind is not Kind.DEPOSIT:
            return node
        self._deposited = True
        if self._reach is None:
            return node
        loss = loss_of(node.node) if isinstance(node.node, ast.Call) else None
        return node._replace(reaches=self._reach.of(loss)) if loss is not None else node

    def _when_told(self, call: ast.Call, node: Node) -> Iterator[Node]:
        """A step that a keyword allows: loss_scaler(loss, optimizer, update_grad=(i + 1) % N == 0)."""
        allowed = next((keyword.value for keyword in call.keywords if keyword.arg == "update_grad"), None)
        if allowed is not None and isinstance(node, Act) and node.kind is Kind.CONSUME:
            yield from self._choice(allowed, (node,), ())
        else:
            yield node

    def _gated(self, node: Node) -> Node:
        """Under `accelerator.accumulate()` a prepared optimizer and its schedule move only at the end of a window."""
        ours = isinstance(node, Act) and (node.slot is not None or node.kind is Kind.SCHEDULE) and node.kind in _GATED
        return Choice((node,), (), Atom(self._gate)) if ours and self._gate else node

    def _comprehension(self, node: _Comprehension, found: list[Node]) -> None:
        first = node.generators[0]
        each = self._enter(first.target, first.iter)
        outer, self._scope.elements = self._scope.elements, {**self._scope.elements, **each}
        events: list[Node] = []
        self._gather_below(node, events)
        self._scope.elements = outer
        body = tuple(events)
        if body:
            found.append(Loop(body, each=self._each(each, body, node)))

    def _enter(self, target: ast.expr, over: ast.expr) -> dict[str, str]:
        """The variables of a loop, by what they run over: `for opt in agent.opts` inside `for agent in agents`."""
        return {name: self._scope.told(path) for name, path in elements(target, over).items()}

    def _each(self, each: dict[str, str], body: Block, loop: ast.AST) -> frozenset[str]:
        """The slots that are others in every iteration: what the loop runs over, and what its variable picks."""
        found = frozenset(each.values())
        if each and any(isinstance(act, Act) and "[*]" in (act.slot or "") for act in walk(body)):
            found |= frozenset(self._scope.told(path) for path in picked(loop, each))
        return found
