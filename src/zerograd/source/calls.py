"""One call in the text: the events it is, or the doubt it leaves."""

import ast
import builtins
import sys
from collections.abc import Callable, Iterator

from zerograd.core.events import Kind, Site
from zerograd.core.facts import ALL_DOUBTS, Doubts
from zerograd.source.bindings import FunctionNode, Role, Scope, path_of
from zerograd.source.skeleton import Act, Blur

Reach = Callable[[FunctionNode], Doubts]
_CLIPS = ("clip_grad_norm_", "clip_grad_value_")
_BUILTINS = frozenset(dir(builtins))
_HARMLESS_PACKAGES = frozenset(sys.stdlib_module_names) | {"torch", "numpy", "tqdm"}
_FAMILIAR_BASES = frozenset({"object", "torch.nn.Module", "abc.ABC"})
_DEPOSITS: Doubts = frozenset({Kind.DEPOSIT})


def site_of(node: ast.expr | ast.stmt, path: str) -> Site:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return Site(path, node.lineno, node.col_offset + 1, end_line, end_column + 1)


class CallReader:
    """Reads the calls of one file. `reach` tells what a function of the file may do; `by_manner` are the paths that
    the file both steps and clears: whatever they are called, they behave as optimizers."""

    def __init__(self, path: str, *, reach: Reach, by_manner: frozenset[str]) -> None:
        self._path = path
        self._reach = reach
        self._by_manner = by_manner

    def read(self, call: ast.Call, scope: Scope) -> Iterator[Act | Blur]:
        known = list(self._events(call, scope))
        yield from known if known else self._doubts(call, scope)

    def _events(self, call: ast.Call, scope: Scope) -> Iterator[Act | Blur]:
        name, receiver = _split(call.func, scope)
        first = scope.slot(call.args[0]) if call.args else None

        def act(kind: Kind, slot: str | None, *, scaled: bool = False) -> Act:
            what = f"{ast.unparse(call.func)}({first or ''})" if scaled else f"{ast.unparse(call.func)}()"
            return Act(kind, slot, site_of(call, self._path), what, scaled)

        match name:
            case "backward" | "manual_backward":
                yield act(Kind.DEPOSIT, None)._replace(scaled=_is_scaled(call, scope))
            case "step" if receiver and self.is_scaler(receiver, scope) and first:
                yield act(Kind.CONSUME, first, scaled=True)
            case "step" if receiver and self.is_optimizer(receiver, scope):
                if call.args or call.keywords:  # a closure: it clears and deposits inside the step
                    yield Blur(ALL_DOUBTS, receiver)
                yield act(Kind.CONSUME, receiver)
            case "zero_grad":
                yield act(Kind.CLEAR, receiver if receiver and self.is_optimizer(receiver, scope) else None)
            case "unscale_" if first:
                yield act(Kind.UNSCALE, first)
            case "zero_" if _is_gradient(call.func):
                yield act(Kind.CLEAR, None)
            case _ if name in _CLIPS:
                yield act(Kind.CLIP, None)

    def is_scaler(self, path: str, scope: Scope) -> bool:
        binding = scope.lookup(path)
        return binding.role is Role.SCALER if binding else "scaler" in path.rpartition(".")[2].lower()

    def is_optimizer(self, path: str, scope: Scope) -> bool:
        binding = scope.lookup(path)
        if binding is not None and binding.role is not Role.INSTANCE:
            return binding.role is Role.OPTIMIZER
        last = path.rpartition(".")[2].lower()
        if "sched" in last or "loss" in last:
            return False
        return "opt" in last or (path in self._by_manner and binding is None)

    def _doubts(self, call: ast.Call, scope: Scope) -> Iterator[Blur]:
        """What a call that is no event may have done unseen."""
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            path = scope.slot(argument)
            if path and self.is_optimizer(path, scope) and not self._is_harmless(call, scope):
                yield Blur(ALL_DOUBTS, path)
        kinds = self._unseen(call, scope)
        if kinds:
            yield Blur(kinds)

    def _is_harmless(self, call: ast.Call, scope: Scope) -> bool:
        path = path_of(call.func)
        if path is None:
            return False
        root = scope.dotted(path).partition(".")[0]
        return root in _HARMLESS_PACKAGES or path in _BUILTINS

    def _unseen(self, call: ast.Call, scope: Scope) -> Doubts:
        path = path_of(call.func)
        if path is None or self._is_harmless(call, scope):
            return frozenset()
        function = scope.function(path)
        if function is not None:
            return self._reach(function)
        binding = scope.lookup(path) or scope.lookup(path.rpartition(".")[0])
        if binding is not None and binding.role is not Role.INSTANCE:
            return frozenset()  # a method of a torch object, or its forward pass
        made_by = binding.made_by if binding else path
        cls = scope.classdef(made_by)
        if cls is not None:
            methods = [node for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            return frozenset(kind for method in methods for kind in self._reach(method))
        if _is_inherited(path, scope):
            return ALL_DOUBTS
        return _DEPOSITS


def _split(func: ast.expr, scope: Scope) -> tuple[str, str | None]:
    match func:
        case ast.Attribute(value=value, attr=attr):
            return attr, scope.slot(value)
        case ast.Name(id=name) if name in _CLIPS:
            return name, None
    return "", None


def _is_scaled(call: ast.Call, scope: Scope) -> bool:
    """scaler.scale(loss).backward(), or the same through a variable."""
    value = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    binding = scope.role_of(value)
    return binding is not None and binding.role is Role.SCALED_LOSS


def _is_gradient(func: ast.expr) -> bool:
    """`p.grad.zero_`, `p.grad.data.zero_`."""
    value = func.value if isinstance(func, ast.Attribute) else func
    if isinstance(value, ast.Attribute) and value.attr == "data":
        value = value.value
    return isinstance(value, ast.Attribute) and value.attr == "grad"


def _is_inherited(path: str, scope: Scope) -> bool:
    """A method that `self` has from a base class of another file: it may do anything."""
    cls = scope.owner
    if cls is None or not path.startswith("self.") or path.count(".") > 1:
        return False
    return path not in cls.assigned and not _FAMILIAR_BASES.issuperset(cls.bases)
