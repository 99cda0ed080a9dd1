"""A gradient that is asked for before anything has deposited it.

The detector walks the one path that every run takes first: statements in order, loops entered once, branches left
aside. On it, a leaf or a model that was made here has no gradient until the first deposit, and one that was cleared by
None has none until the next. Whatever deposits ends what is known; a call that is handed the model and that cannot be
read leaves it possible.
"""

import ast
import builtins
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Blur, Call
from zerograd.source.names.roles import role_of
from zerograd.source.names.scopes import Role
from zerograd.source.order.clears import keeps_zeros
from zerograd.source.order.updates import is_leaf
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import Reading

_HARMLESS = frozenset(sys.stdlib_module_names) | frozenset(dir(builtins)) | {"torch", "numpy", "tqdm"}
# What tensors, modules and lists are asked for between a clear and a backward, and whatever a gradient is asked for.
_METHODS = pattern(
    r"\.grad\.|\.(to|cuda|cpu|view|reshape|float|long|item|size|detach|clone|sum|mean|pow|square|abs|mm|matmul|t|append"
    r"|format|train|eval|(named_)?parameters|zero_(grad)?|(load_)?state_dict|items|keys|values)$"
)


def detect(function: Reading) -> Iterator[Finding]:
    if _asks(function):
        yield from _FirstPass(function).block(getattr(function.node, "body", []))


def _asks(function: Reading) -> bool:
    """Whether anything is done with a gradient that None would break."""
    used = [node.value for node in function.of(ast.Attribute)] + [node.value for node in function.of(ast.Subscript)]
    used += [side for node in function.of(ast.BinOp) for side in (node.left, node.right)]
    return any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in used)


class _Over(Exception):
    """The path ends here: it returns, or nothing more is known on it."""


class _Empty(NamedTuple):
    """A slot without a gradient."""

    why: str
    certain: bool = True


class _FirstPass:
    def __init__(self, function: Reading) -> None:
        self._function = function
        self._empty: dict[str, _Empty] = {}  # by the path of a leaf or a model

    def block(self, statements: Sequence[ast.stmt]) -> Iterator[Finding]:
        with suppress(_Over):
            for statement in statements:
                yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[Finding]:
        match node:
            case ast.For(target=target, iter=over, body=body):
                yield from self._simple(over)
                yield from self._loop(target, over, body)
            case ast.With(items=items, body=body):
                for item in items:
                    yield from self._simple(item.context_expr)
                for inner in body:
                    yield from self._statement(inner)
            case ast.If(test=test, body=body) if written(test).startswith("__name__ =="):
                yield from self.block(body)
            case ast.While(body=body):
                yield from self.block(body)
                self._leave(node)
            case ast.If() | ast.Try() | ast.TryStar() | ast.Match() | ast.AsyncFor() | ast.AsyncWith():
                self._leave(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                yield from self._simple(node)
                raise _Over
            case _:
                yield from self._simple(node)
                self._bind(node)

    def _loop(self, target: ast.expr, over: ast.expr, body: list[ast.stmt]) -> Iterator[Finding]:
        each = self._elements(target, over)
        self._empty |= each
        yield from self.block(body)
        for name in each:
            self._empty.pop(name, None)
        for statement in body:
            self._leave(statement)

    def _elements(self, target: ast.expr, over: ast.expr) -> dict[str, _Empty]:
        """`for p in model.parameters()`: as empty as the model."""
        match target, over:
            case ast.Name(id=name), ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[]):
                empty = self._empty.get(path_of(value) or "")
                return {name: empty} if empty else {}
            case ast.Name(id=name), ast.List(elts=parts) | ast.Tuple(elts=parts):
                each = [empty for part in parts if (empty := self._empty.get(path_of(part) or "")) is not None]
                return {name: each[0]} if each and len(each) == len(parts) else {}
        return {}

    def _leave(self, node: ast.AST) -> None:
        """Behind statements that may have run or not: what they may have filled or bound is not known any more."""
        for part in below(node) if self._empty else ():
            if isinstance(part, ast.Call):
                self._call(part)
            elif isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store):
                self._forget((path_of(part) or "").removesuffix(".grad"))

    def _simple(self, node: ast.AST) -> Iterator[Finding]:
        if not self._empty:
            return
        for part in below(node):
            if isinstance(part, ast.Call):
                self._call(part)
        for use, owner in uses_of(node) if self._empty else ():
            empty = self._empty.get(owner)
            if empty is not None:
                site, what = self._function.site(use), f"{owner}.grad"
                yield note(REGISTRY["ZG303"], site, certain=empty.certain, what=what, why=empty.why)

    def _call(self, call: ast.Call) -> None:
        """What a call may fill."""
        program = self._function.file.program
        for event in program.calls.read(call, self._function.scope):
            match event:
                case Act(kind=Kind.DEPOSIT) | Blur():
                    self._empty.clear()
                case Call(function=called) if program.body_of(called):
                    self._empty.clear()
        if not self._is_resolved(call):
            self._empty = {path: empty._replace(certain=False) for path, empty in self._empty.items()}

    def _is_resolved(self, call: ast.Call) -> bool:
        """Whether nothing but what stands in this file, or in torch, can run: a forward pass, a method of a tensor."""
        path, scope = path_of(call.func), self._function.scope
        if path is None:
            return isinstance(call.func, ast.Attribute) and _METHODS.search(f".{call.func.attr}") is not None
        if scope.dotted(path).partition(".")[0] in _HARMLESS or scope.function(path) is not None:
            return True
        binding = scope.lookup(path) or scope.lookup(path.rpartition(".")[0])
        return (
            binding is not None
            or scope.class_scope(scope.dotted(path)) is not None
            or _METHODS.search(path) is not None
        )

    def _forget(self, path: str) -> None:
        for known in [name for name in self._empty if name == path or name.startswith(f"{path}.")]:
            del self._empty[known]

    def _bind(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Attribute(value=owner, attr="grad")], value=value):
                self._forget(path_of(owner) or "")
                if isinstance(value, ast.Constant) and value.value is None and path_of(owner):
                    self._empty[path_of(owner) or ""] = _Empty(f"it is set to None on line {node.lineno}")
            case ast.Assign(targets=[target], value=value):
                path = path_of(target)
                for part in below(target):
                    self._forget(path_of(part) or "")
                if path and isinstance(value, ast.Call) and self._is_new(value):
                    self._empty[path] = _Empty(f"no backward() since {path} was created on line {node.lineno}")
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="zero_grad")) as call):
                cleared = self._model(path_of(owner) or "")
                if cleared and not keeps_zeros(call):
                    self._empty[cleared] = _Empty(f"zero_grad() on line {node.lineno} set it to None")

    def _is_new(self, call: ast.Call) -> bool:
        """A leaf that torch makes, or a model of torch's or of this file's classes."""
        if is_leaf(call, self._function.scope):
            return True
        binding = role_of(call, self._function.scope)
        if binding is None:
            return False
        return binding.role is Role.INSTANCE or binding.made_by.startswith("torch.nn.")

    def _model(self, path: str) -> str:
        binding = self._function.scope.lookup(path)
        if binding is not None and binding.role is Role.OPTIMIZER:
            return binding.over[0] if len(binding.over) == 1 else ""
        return path


def uses_of(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Every `p.grad` that None would break here: an attribute of it, an item, an operand. Printing None is no fault."""
    match node:
        case ast.BoolOp() | ast.IfExp() | ast.Lambda() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
            return  # asked for under a condition
        case ast.Attribute(value=ast.Attribute(value=owner, attr="grad")) if path_of(owner):
            yield node, path_of(owner) or ""
        case ast.Subscript(value=ast.Attribute(value=owner, attr="grad")) if path_of(owner):
            yield node, path_of(owner) or ""
        case ast.BinOp(left=left, right=right):
            for side in (left, right):
                if isinstance(side, ast.Attribute) and side.attr == "grad" and path_of(side.value):
                    yield side, path_of(side.value) or ""
    for child in ast.iter_child_nodes(node):
        yield from uses_of(child)
