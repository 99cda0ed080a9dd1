"""Expressions to events: in the order in which Python evaluates them, each with what its place in the function says."""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT
from zerograd.source.counting.loops import accumulates, elements, goes_over_part, picked
from zerograd.source.counting.questions import Questions, chooses
from zerograd.source.counting.tests import is_place, keys_of, questions_in
from zerograd.source.lowering.calls import CallReader, may_be_event, site_of
from zerograd.source.lowering.mapped import RUNS, handed_on, kinds_inside, picked_by_name
from zerograd.source.lowering.occasions import with_doubts
from zerograd.source.lowering.parted import waits_inside
from zerograd.source.lowering.scales import asking_first, deposits_scaled
from zerograd.source.lowering.skeleton import Act, Block, Blur, Call, Choice, Jump, Loop, Node, leaves, walk
from zerograd.source.names.members import members_of
from zerograd.source.names.scopes import FunctionNode, Scope
from zerograd.source.text.nodes import LEAVES, READ, Nodes
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import BUILTINS

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SCALE, _GATED = frozenset({Kind.UNSCALE}), (Kind.CONSUME, Kind.CLEAR, Kind.SCHEDULE)
_ALLOWS = frozenset({"update_grad", "need_update", "do_update", "do_step"})
_IDLE = BUILTINS - RUNS  # print(...), len(...)
_BRANCHING = frozenset(
    {ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
    | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda}  # run when they are called
)


@lru_cache(maxsize=4096)  # the same names are called all the time
def _may_matter(name: str) -> bool:
    """Whether a call of something of torch's or Python's own is an event, or runs what it is handed: its last word."""
    return name in RUNS or may_be_event(name)


class Expressions:
    """Those of one function: what its tests and counters mean is a matter of the whole of it."""

    def __init__(
        self,
        function: ast.Module | FunctionNode,
        own: Nodes,
        scope: Scope,
        calls: CallReader,
        path: str,
        inputs: frozenset[str] = frozenset(),
    ) -> None:
        self._inputs = inputs  # the tensors that this function's backwards are meant for
        self._function, self._own, self._scope, self._calls, self._path = function, own, scope, calls, path
        self._keys = keys_of(own)
        self._questions = Questions(function, own, scope)
        self._has_gates = any(accumulates(item.context_expr) for item in own.of(ast.withitem))
        self._waits = waits_inside(own)
        self._foreign = calls.foreign(scope)
        self._deposited = False  # in this iteration of the loop we are in
        self._asked: tuple[ast.expr, ...] = ()  # the tests we are under, inside this loop
        self._gate = ""  # the question that Accelerate asks, in a loop with `with accelerator.accumulate(model):`

    def _events(self, node: ast.AST) -> list[Node]:
        """The events of an expression or a simple statement, in the order in which Python evaluates them."""
        return [] if node.__class__ in LEAVES else self._gather([node])

    def _gather(self, stack: list[Any]) -> list[Node]:
        # From right to left, outer before inner: the other way round, that is the order in which Python evaluates.
        later: list[ast.AST] = []
        foreign = self._foreign
        while stack:
            node = stack.pop()
            kind = node.__class__
            while kind is ast.Attribute:
                node = node.value
                kind = node.__class__
            if kind in LEAVES:
                continue
            if kind is ast.Call:
                func = root = node.func
                while root.__class__ is ast.Attribute:
                    root = root.value
                if root.__class__ is not ast.Name:
                    later.append(node)
                    stack.append(root)
                elif root is func:
                    if root.id not in _IDLE and (root.id not in foreign or _may_matter(root.id)):
                        later.append(node)
                elif root.id not in foreign or _may_matter(func.attr):  # not torch.cat(parts): a quarter of all calls
                    later.append(node)
                stack += node.args
                if node.keywords:
                    stack += [keyword.value for keyword in node.keywords]
                continue
            if kind in _BRANCHING or (kind is ast.Yield and self._waits):
                later.append(node)
                continue
            held = READ[kind](node)
            for part in held if held.__class__ is tuple else (held,):
                if part.__class__ is list:
                    stack += part
                elif part.__class__ not in LEAVES:
                    stack.append(part)
        found: list[Node] = []
        for node in reversed(later):
            if isinstance(node, ast.Call):
                found += self._call(node)
            else:
                self._branch(node, found)
        return found

    def _branch(self, node: ast.AST, found: list[Node]) -> None:
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                found += self._events(test)
                found += self._choice(test, tuple(self._events(body)), tuple(self._events(orelse)))
            case ast.BoolOp(values=[first, *others]):
                found += self._events(first)
                later = tuple(event for other in others for event in self._events(other))
                found += [Choice(later, ())] if later else []
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node, found)
            case ast.Yield(value=value):
                found += self._events(value) if value is not None else ()
                found.append(Blur(ALL_DOUBTS))
            case ast.Lambda(body=body):
                deposited = self._deposited
                kinds = kinds_inside(tuple(self._events(body)), self._calls.is_idle)
                self._deposited = deposited
                found += [Blur(kinds)] if kinds else []

    def _call(self, call: ast.Call) -> Iterable[Node]:
        """What a call does, and before it what it may do by running what it is handed; most do nothing at all."""
        func, kinds = call.func, NO_DOUBT
        if isinstance(func, ast.Call):
            kinds = picked_by_name(func, call, self._scope, self._calls.is_idle)
        elif (func.attr if isinstance(func, ast.Attribute) else path_of(func)) in RUNS:
            kinds = handed_on(call, self._scope, self._calls.is_idle)
        events = self._calls.read(call, self._scope)
        found = self._placed(call, events) if events else ()
        return (Blur(kinds), *found) if kinds else found

    def _placed(self, call: ast.Call, events: Iterable[Node]) -> Iterator[Node]:
        """Events, each with what its place in the function says."""
        of_input = bool(self._inputs) and self._is_of_input(call.func)
        for event in events:
            if not isinstance(event, Act):
                yield from () if of_input else (event,)
                continue
            if event.what.endswith(".zero_()"):
                parameter = event.what.removesuffix(".zero_()").removesuffix(".data").removesuffix(".grad")
                event = event._replace(partial=self._reaches_some(ast.Name(parameter.partition(".")[0])))
            self._deposited = self._deposited or event.kind is Kind.DEPOSIT
            yield from self._when_told(call, self._gated(event))

    def _at_inputs(
        self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, events: Iterable[Act | Blur]
    ) -> Iterator[Act | Blur]:
        """What an assignment does by hand; to the gradient of an input it is nothing that a parameter feels."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not any(map(self._is_of_input, targets)):
            yield from events
            return
        yield from (event for event in events if isinstance(event, Act))

    def _is_of_input(self, gradient: ast.expr) -> bool:
        """Whether `x.grad` of an input is what is changed: no parameter's is."""
        while isinstance(gradient, ast.Attribute) and gradient.attr != "grad":
            gradient = gradient.value
        return isinstance(gradient, ast.Attribute) and path_of(gradient.value) in self._inputs

    def _when_told(self, call: ast.Call, node: Node) -> Iterator[Node]:
        """A step that a keyword allows: loss_scaler(loss, optimizer, update_grad=(i + 1) % N == 0)."""
        allowed = next((keyword.value for keyword in call.keywords if keyword.arg in _ALLOWS), None)
        if allowed is not None and isinstance(node, Act) and node.kind is Kind.CONSUME:
            yield from self._choice(allowed, (node,), ())
        else:
            yield node

    def _gated(self, node: Act) -> Act | Choice:
        """Under `accelerator.accumulate()` a prepared optimizer and its schedule move only at the end of a window."""
        ours = (node.slot is not None or node.kind is Kind.SCHEDULE) and node.kind in _GATED
        return Choice((node,), ()) if ours and self._gate else node

    def _comprehension(self, node: _Comprehension, found: list[Node]) -> None:
        first = node.generators[0]
        whole = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]

        def inside() -> Block:
            return tuple(self._gather([*whole, *node.generators]))

        chosen = any(generator.ifs for generator in node.generators)
        each_alone = () if chosen else self._one_by_one(first.target, first.iter, inside)
        if each_alone:
            found += each_alone
            return
        each = self._enter(first.target, first.iter)
        outer, self._scope.elements = self._scope.elements, {**self._scope.elements, **each}
        body = inside()
        self._scope.elements = outer
        if body:
            found.append(Loop(body, each=self._each(each, body, node)))

    def _one_by_one(self, target: ast.expr, over: ast.expr, lower: Callable[[], Block]) -> Block:
        """What a loop does to each of the optimizers that are listed by their names: for opt in [first, second]."""
        listed = members_of(over, self._scope, self._function) if isinstance(target, ast.Name) else ()
        if not listed or not all(self._calls.is_optimizer(path, self._scope) for path in listed):
            return ()
        assert isinstance(target, ast.Name)
        outer, found = self._scope.elements, list[Node]()
        for path in listed:
            self._scope.elements = {**outer, target.id: path}
            found += lower()
        self._scope.elements = outer
        return () if any(isinstance(node, Jump) for node in walk(tuple(found))) else tuple(found)

    def _enter(self, target: ast.expr, over: ast.expr) -> dict[str, str]:
        """The variables of a loop, by what they run over: `for opt in agent.opts` inside `for agent in agents`."""
        return {name: self._scope.told(path) for name, path in elements(target, over).items()}

    def _each(self, each: dict[str, str], body: Block, loop: ast.AST) -> frozenset[str]:
        """The slots that are others in every iteration: what the loop runs over, and what its variable picks."""
        found = frozenset(each.values())
        if each and any(isinstance(act, Act) and "[*]" in (act.slot or "") for act in walk(body)):
            found |= frozenset(self._scope.told(path) for path in picked(loop, each))
        return found

    def _choice(self, test: ast.expr, body: Block, orelse: Block) -> Iterator[Node]:
        known = self._questions.settled(test) if body or orelse else None
        if known is not None:
            yield from body if known else orelse
        elif body or orelse:
            decides = any(isinstance(node, (Act, Call)) for node in walk((*body, *orelse)))
            leads_away = not decides and leaves(body) != leaves(orelse)
            question, guard = self._questions.read(test, self._gate, decides=decides, leads_away=leads_away)
            if question is None and deposits_scaled(body) | deposits_scaled(orelse) == {True, False}:
                # Scaled or not, by a test whose answer cannot be kept: the next time it is the same all the same.
                body, orelse = (Blur(_SCALE), *body), (Blur(_SCALE), *orelse)
            if not any(map(is_place, questions_in(question))):
                home = self._scope.module.home
                body, orelse = with_doubts(test, body, orelse, home.text if home is not None else "")
            yield Choice(asking_first(body, question), orelse, guard, site_of(test, self._path))

    def _reaches_some(self, parameter: ast.expr) -> bool:
        """A clear by hand reaches all parameters only from a loop over them that chooses none."""
        name = path_of(parameter) or ""
        root = name.partition(".")[0]
        picked = any(chooses(test, name) for test in self._asked)
        return picked or root not in self._scope.elements or goes_over_part(root, self._own)
