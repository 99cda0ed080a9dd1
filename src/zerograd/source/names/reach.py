"""Which modules a loss reaches: whose parameters its backward deposits into, where the text proves it.

Names are followed to the assignment that reaches them. What is detached, made under `no_grad`, handed to a function we
cannot see through, or assigned on some paths only proves nothing. The answer is a lower bound: silence is always right.
"""

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from zerograd.source.names.opaque import makes_something
from zerograd.source.names.passing import passed_on
from zerograd.source.names.roles import role_of
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import written
from zerograd.source.text.paths import path_of

Modules = frozenset[str]
NOTHING: Modules = frozenset()
Fed = frozenset[tuple[str, str]]  # a module, and one whose output it is given: D, G of D(G(z))
_CUTS = frozenset(
    {"detach", "detach_", "data", "item", "numpy", "tolist", "grad", "shape", "size", "argmax", "no_grad"}
    | {"sample", "multinomial", "bernoulli", "one_hot", "long", "int", "byte", "bool", "argsort"}  # drawn, or counted
    | {"round", "sign", "floor", "ceil", "trunc", "gt", "ge", "lt", "le", "eq", "ne", "new_tensor", "as_tensor"}
)
_NO_GRAD = re.compile(r"no_grad|inference_mode|set_grad_enabled")
_FREEZES = re.compile(
    r"set_requires_grad|toggle_grad|toggle_optimizer|freeze|\.requires_grad\s*=|requires_grad_\((?!\)|True)|Revers|grad_reverse"
)
# One of these is in each of them. GradientReversal, ReverseLayer: what is left in others is meant for them.
_FROZEN = ("freeze", "toggle_", "requires_grad", "Revers", "grad_reverse")
_DEPTH = 12
_LAST = itemgetter(1)  # line of a statement
_Branches = tuple[tuple[int, bool], ...]


def freezes(text: str) -> bool:
    """Whether parameters are frozen and thawed, or gradients reversed: then a loss does not tell whom it is for."""
    return any(word in text for word in _FROZEN) and _FREEZES.search(text) is not None


class _Definition(NamedTuple):
    line: int
    value: ast.expr
    branches: _Branches
    cut: bool  # under no_grad
    adds: bool = False  # loss += ..., losses.append(...): what was there before is still in it


class Reach:
    """The assignments of one function."""

    def __init__(self, function: ast.AST, scope: Scope) -> None:
        self._scope = scope
        self._made: dict[str, list[_Definition]] = {}
        self._branches: list[tuple[int, int, _Branches, bool]] = []  # of every statement by its lines, in text order
        self._fed: set[tuple[str, str]] = set()
        self._read(getattr(function, "body", []), (), cut=False)

    def with_fed(self, loss: ast.expr) -> tuple[Modules, Fed]:
        """The modules that a loss reaches, and which of them it reaches through which others."""
        self._fed = set()
        return self.of(loss), frozenset(self._fed)

    def of(self, loss: ast.expr) -> Modules:
        number = bisect_left(self._branches, loss.lineno, key=_LAST)
        if number == len(self._branches):
            return NOTHING
        first, _, branches, cut = self._branches[number]
        return NOTHING if cut or loss.lineno < first else self._of(loss, loss.lineno, branches, 0)

    def _read(self, statements: Iterable[ast.stmt], branches: _Branches, *, cut: bool) -> None:
        for node in statements:
            match node:
                case ast.If(body=body, orelse=orelse):
                    self._read(body, (*branches, (id(node), True)), cut=cut)
                    self._read(orelse, (*branches, (id(node), False)), cut=cut)
                case ast.With(items=items, body=body):
                    quiet = any(_NO_GRAD.search(written(item.context_expr)) for item in items)
                    self._read(body, branches, cut=cut or quiet)
                case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                    self._read((*body, *orelse), branches, cut=cut)
                case ast.Try(body=body, orelse=orelse, finalbody=final):
                    self._read((*body, *orelse, *final), branches, cut=cut)
                case _:
                    self._branches.append((node.lineno, node.end_lineno or node.lineno, branches, cut))
                    self._define(node, branches, cut)

    def _define(self, node: ast.stmt, branches: _Branches, cut: bool) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    elements = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                    parallel = isinstance(value, ast.Tuple) and len(value.elts) == len(elements) > 1
                    for position, element in enumerate(elements):
                        its = value.elts[position] if parallel and isinstance(value, ast.Tuple) else value
                        self._note(element, _Definition(node.lineno, its, branches, cut))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._note(target, _Definition(node.lineno, value, branches, cut))
            case ast.AugAssign(target=target, value=value):
                self._note(target, _Definition(node.lineno, value, branches, cut, adds=True))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=several, attr="append"), args=[value])):
                self._note(several, _Definition(node.lineno, value, branches, cut, adds=True))

    def _note(self, target: ast.expr, made: _Definition) -> None:
        path = path_of(target)
        if path:
            self._made.setdefault(path, []).append(made)

    def _of(self, node: ast.expr, line: int, branches: _Branches, depth: int) -> Modules:
        if depth > _DEPTH:
            return NOTHING

        def go(inner: ast.expr) -> Modules:
            return self._of(inner, line, branches, depth + 1)

        match node:
            case ast.Call():
                return self._of_call(node, line, branches, depth)
            case ast.BinOp(left=left, right=right):
                return go(left) | go(right)
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
                return go(inner)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return NOTHING.union(*map(go, elements)) if elements else NOTHING
            case ast.Attribute(attr=attr) if attr in _CUTS:
                return NOTHING
            case ast.Name() | ast.Attribute():
                return self._of_name(node, line, branches, depth)
        return NOTHING

    def _of_name(self, node: ast.Name | ast.Attribute, line: int, branches: _Branches, depth: int) -> Modules:
        earlier = [made for made in self._made.get(path_of(node) or "", ()) if made.line < line]
        if not earlier:
            return self._of(node.value, line, branches, depth + 1) if isinstance(node, ast.Attribute) else NOTHING
        made = earlier[-1]
        if made.cut or made.branches != branches[: len(made.branches)]:
            return NOTHING
        found = self._of(made.value, made.line, made.branches, depth + 1)
        return found | self._of(node, made.line, branches, depth + 1) if made.adds else found

    def _of_call(self, call: ast.Call, line: int, branches: _Branches, depth: int) -> Modules:
        func, path = call.func, path_of(call.func)
        if isinstance(func, ast.Attribute) and func.attr in _CUTS:
            return NOTHING
        own = self._scope.function(path) if path is not None else None
        arguments = _used(call, own) if own is not None else [*call.args, *(one.value for one in call.keywords)]
        given = NOTHING.union(*(self._of(argument, line, branches, depth + 1) for argument in arguments))
        if own is not None:
            return given
        if path is not None and self._is_module(path, line):
            self._fed.update((path, other) for other in given)
            return given | {path}
        if path is not None and self._passes(path, call):
            return given
        if isinstance(func, ast.Attribute):  # a method of a tensor: fake.view(-1), D(x).mean()
            inner = self._of(func.value, line, branches, depth + 1)
            return inner | given if inner else NOTHING
        return NOTHING

    def _is_module(self, path: str, line: int) -> bool:
        """Something that is called and holds parameters: a parameter or an attribute that is no function of ours."""
        binding = self._scope.lookup(path)
        if binding is not None:
            return binding.role.name in ("TORCH", "INSTANCE")
        if self._scope.function(path) is not None:
            return False
        if path in self._made:
            return all(isinstance(made.value, ast.Call) and _is_class(made.value.func) for made in self._made[path])
        return path in self._scope.parameters or (path.startswith("self.") and path.count(".") == 1)

    def _passes(self, path: str, call: ast.Call) -> bool:
        """A function of torch's gives a result that depends on what it is given."""
        role = role_of(call, self._scope)
        return self._scope.dotted(path).startswith("torch.") or (role is not None and role.role.name == "TORCH")


def _used(call: ast.Call, function: Function) -> list[ast.expr]:
    """What is handed to a function of the project, of which it makes what it returns."""
    passed = passed_on(function)
    if not passed or any(isinstance(one, ast.Starred) for one in call.args):
        return []
    own = function.scope.parameters[:1] in (("self",), ("cls",))
    pairs = zip(function.scope.parameters[own:], call.args, strict=False)
    return [one for name, one in (*pairs, *((key.arg, key.value) for key in call.keywords)) if name in passed]


def _is_class(func: ast.expr) -> bool:
    """Whether a call is named as classes are: what it makes can be called."""
    path = path_of(func)
    return path is not None and makes_something(path)
