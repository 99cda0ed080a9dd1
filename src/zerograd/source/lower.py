"""Python statements to skeletons: control flow is kept, everything that is no event falls away."""

import ast
from collections.abc import Iterable, Iterator

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, Doubts
from zerograd.source.bindings import FunctionNode, Role, Roots, Scope, bind_module, path_of
from zerograd.source.calls import CallReader, site_of
from zerograd.source.skeleton import Act, Attempt, Block, Blur, Choice, Create, Jump, Loop, Node, acts

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_ENDINGS = ("sys.exit", "os._exit", "exit", "quit")


class Lowering:
    """Lowers the functions of one file, each at most once."""

    def __init__(self, tree: ast.Module, path: str) -> None:
        self._path = path
        self.roots: Roots = bind_module(tree)
        self._scopes = dict(self.roots.functions)
        self._blocks: dict[FunctionNode, Block] = {}
        self._reading: set[FunctionNode] = set()
        self._calls = CallReader(path, reach=self.reach, by_manner=_optimizers_by_manner(tree))
        self.module: Block = self._block(tree.body, self.roots.module)

    def function(self, node: FunctionNode) -> Block:
        if node not in self._blocks:
            self._reading.add(node)
            self._blocks[node] = self._block(node.body, self._scopes[node])
            self._reading.discard(node)
        return self._blocks[node]

    def reach(self, node: FunctionNode) -> Doubts:
        """The kinds of event a call of `node` may do. A recursive call may do anything."""
        if node in self._reading:
            return ALL_DOUBTS
        kinds: set[Kind] = set()
        for act in acts(self.function(node)):
            match act:
                case Act(kind=kind):
                    kinds.add(kind)
                case Blur(kinds=blurred):
                    kinds |= blurred
        return frozenset(kinds)

    def _block(self, statements: Iterable[ast.stmt], scope: Scope) -> Block:
        nodes: list[Node] = []
        for statement in statements:
            nodes += self._statement(statement, scope)
            if nodes and isinstance(nodes[-1], Jump):
                break  # nothing behind a jump is ever run
        return tuple(nodes)

    def _statement(self, node: ast.stmt, scope: Scope) -> Iterator[Node]:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                yield from self._events(test, scope)
                yield from _choice(self._block(body, scope), self._block(orelse, scope))
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from self._loop(node, scope)
            case ast.Try() | ast.TryStar():
                yield from self._try(node, scope)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    yield from self._events(item.context_expr, scope)
                yield from self._block(body, scope)
            case ast.Match(subject=subject, cases=cases):
                yield from self._events(subject, scope)
                yield from self._match(cases, scope)
            case ast.Break():
                yield Jump("break")
            case ast.Continue():
                yield Jump("continue")
            case ast.Return():
                yield from self._events(node, scope)
                yield Jump("return")
            case ast.Raise():
                yield from self._events(node, scope)
                yield Jump("raise")
            case _:
                yield from self._simple(node, scope)

    def _simple(self, node: ast.stmt, scope: Scope) -> Iterator[Node]:
        yield from self._events(node, scope)
        match node:
            case ast.Assign(targets=targets, value=ast.Constant(value=None)):
                gradients = [
                    target for target in targets if isinstance(target, ast.Attribute) and target.attr == "grad"
                ]
                for target in gradients:
                    yield Act(Kind.CLEAR, None, site_of(node, self._path), f"{ast.unparse(target)} = None")
            case ast.Assign(targets=[target], value=value):
                path, binding = path_of(target), scope.role_of(value)
                if path and binding and binding.role is Role.OPTIMIZER and isinstance(value, ast.Call):
                    yield Create(path)
            case ast.Expr(value=ast.Call(func=func)) if (path_of(func) or "") in _ENDINGS:
                yield Jump("raise")

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, scope: Scope) -> Iterator[Node]:
        head: list[Node] = []
        endless = False
        if isinstance(node, ast.While):
            head += self._events(node.test, scope)
            endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        else:
            yield from self._events(node.iter, scope)
        each = None if isinstance(node, ast.While) else _element(node.target, node.iter)
        outer = scope.elements
        if each is not None:
            scope.elements = {**outer, each[0]: each[1]}
        body = (*head, *self._block(node.body, scope))
        scope.elements = outer
        orelse = self._block(node.orelse, scope)
        if body or orelse or endless:
            yield Loop(body, orelse, endless, each[1] if each else None)

    def _try(self, node: ast.Try | ast.TryStar, scope: Scope) -> Iterator[Node]:
        attempt = Attempt(
            self._block(node.body, scope),
            tuple(self._block(handler.body, scope) for handler in node.handlers),
            self._block(node.orelse, scope),
            self._block(node.finalbody, scope),
            any(_takes_all(handler.type) for handler in node.handlers),
        )
        if any((attempt.body, *attempt.handlers, attempt.orelse, attempt.final)):
            yield attempt

    def _match(self, cases: list[ast.match_case], scope: Scope) -> Block:
        if not cases:
            return ()
        first, *others = cases
        body = self._block(first.body, scope)
        irrefutable = first.guard is None and isinstance(first.pattern, ast.MatchAs) and first.pattern.pattern is None
        return body if irrefutable else tuple(_choice(body, self._match(others, scope)))

    def _events(self, node: ast.AST, scope: Scope) -> Iterator[Node]:
        """The events of an expression or a simple statement, in the order in which Python evaluates them."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                return
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from self._events(test, scope)
                yield from _choice(tuple(self._events(body, scope)), tuple(self._events(orelse, scope)))
            case ast.BoolOp(values=[first, *others]):
                yield from self._events(first, scope)
                yield from _choice(tuple(event for other in others for event in self._events(other, scope)), ())
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield from self._comprehension(node, scope)
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from self._events(child, scope)
                if isinstance(node, ast.Call):
                    yield from self._calls.read(node, scope)

    def _comprehension(self, node: _Comprehension, scope: Scope) -> Iterator[Node]:
        first = node.generators[0]
        each = _element(first.target, first.iter)
        outer = scope.elements
        if each is not None:
            scope.elements = {**outer, each[0]: each[1]}
        body = tuple(event for child in ast.iter_child_nodes(node) for event in self._events(child, scope))
        scope.elements = outer
        if body:
            yield Loop(body, each=each[1] if each else None)


def _element(target: ast.expr, over: ast.expr) -> tuple[str, str] | None:
    """`for opt in opts`: ("opt", "opts[*]"). What is not a plain collection gets a name of its own."""
    match over:
        case ast.Call(func=ast.Attribute(value=inner, attr="values")):
            over = inner
        case (
            ast.Call(func=ast.Attribute(value=inner, attr="items"))
            | ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_])
        ):
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                return None
            target, over = target.elts[1], inner
    if not isinstance(target, ast.Name):
        return None
    return target.id, f"{path_of(over) or target.id}[*]"


def _choice(body: Block, orelse: Block) -> Iterator[Node]:
    if body or orelse:
        yield Choice(body, orelse)


def _takes_all(caught: ast.expr | None) -> bool:
    names = [caught] if not isinstance(caught, ast.Tuple) else caught.elts
    return caught is None or any(path_of(name) in ("Exception", "BaseException") for name in names if name)


def _optimizers_by_manner(tree: ast.Module) -> frozenset[str]:
    """The paths that are both stepped and cleared somewhere in the file."""
    called: dict[str, set[str]] = {"step": set(), "zero_grad": set()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in called:
            called[node.func.attr].add(path_of(node.func.value) or "")
    return frozenset(called["step"] & called["zero_grad"]) - {""}
