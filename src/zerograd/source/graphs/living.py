"""Which values of a function that trains surely have a graph: those made of what a trained model returned.

A value is followed back to every assignment that reaches it, through arithmetic, through what torch differentiates, and
into the functions of this project that return it. Whatever cannot be read has none: the answer is a lower bound.
"""

import ast
import re
from functools import cached_property

from zerograd.source.graphs.leaves import makes_leaf
from zerograd.source.graphs.quiet import perhaps_quiet_parts
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text import wording
from zerograd.source.text.nodes import holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import called
from zerograd.source.values.definitions import Definition, Item, definitions_of, is_key, item_of
from zerograd.source.values.reading import Reading

_LOSS = pattern(r"(^|[._])(criteri\w*|\w*loss(_?fn|_func\w*|_f)?|loss_\w+|\w*crit)$|(Loss|entropy|_div|likelihood)$")
_OUTPUT = pattern(r"loss|logit|pred|out|score")
FROZEN = pattern(r"teacher|target|ema|old|frozen|pretrain|ref|fixed|vgg|inception|clip", re.IGNORECASE)
_MODEL = pattern(r"(^|_)(model|net|network|encoder|decoder|generator|vae|unet|net[A-Z])\d*$")
_PLAIN = frozenset({"encoder", "decoder", "generator"})  # of labels, of texts, of numbers: not every one is a network
_OF_MODULES = ("parameters", "train", "eval", "zero_grad", "state_dict", "cuda", "to")
_NUMBERS = frozenset({"numpy", "math", "len", "int", "float"})
_DEPTH, _DEEP = 12, 2


class Graphs:
    """The values of one function; `live`: those of its parameters that have a graph, `leaves`: that are asked for
    gradients themselves."""

    def __init__(
        self,
        function: Reading,
        live: frozenset[str] | None = None,
        deep: int = _DEEP,
        leaves: frozenset[str] = frozenset(),
    ) -> None:
        self._function, self._live, self._deep, self._leaves = function, live, deep, leaves
        self._names = definitions_of(function)
        self._known: dict[tuple[int, Item], bool] = {}
        self._depth = 0

    def has(self, node: ast.expr, at: Item = None) -> bool:
        """Whether an expression surely has a graph; `at`: its item at this place."""
        key = id(node), at
        if key not in self._known:
            self._known[key] = False  # a value that is made of itself is what it was before
            self._depth += 1
            self._known[key] = self._depth < _DEPTH and self._has(node, at)
            self._depth -= 1
        return self._known[key]

    def _has(self, node: ast.expr, at: Item) -> bool:
        match node:
            case ast.Name() | ast.Attribute() | ast.Subscript() if path_of(node) is not None:
                return self._is_bound(path_of(node) or "", node, at)
            case ast.Subscript(value=value):
                return self.has(value, item_of(node.slice))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow(), right=right):
                return self.has(left) or self.has(right) or self._asked(node, left, right)
            case ast.UnaryOp(operand=operand, op=ast.USub()):
                return self.has(operand)
            case ast.IfExp(body=body, orelse=orelse):
                return self.has(body, at) and self.has(orelse, at)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self.has(items[at]) if isinstance(at, int) and at < len(items) else any(map(self.has, items))
            case ast.Dict(keys=keys, values=values) if at is not None:
                return any(self.has(its) for key, its in zip(keys, values, strict=True) if is_key(key, at))
            case ast.Call():
                return not self._is_quiet(node) and self._is_made(node, at)
        return False

    def _is_quiet(self, node: ast.AST) -> bool:
        return any(holds(block, node) for block in self._quiet)

    @cached_property
    def _quiet(self) -> list[ast.AST]:
        return list(perhaps_quiet_parts(self._function))

    def _is_bound(self, path: str, use: ast.AST, at: Item) -> bool:
        if not wording.CUTS.isdisjoint(path.replace("[", ".").split(".")[1:]):
            return False
        if "." in path and not self._names.every(path) and not _OUTPUT.search(path.rpartition(".")[2]):
            return False  # output.accuracy: whatever a model returns beside what is learned from
        reached = self._names.reaching(path, use)
        if reached is None:
            return path in (self._live or ())
        item = at if reached.item is None else reached.item
        made = [one for one in reached.here if not one.adds and not is_constant(one.value)]  # loss = 0.0, on other ways
        grown = any(one.adds and isinstance(one.node, ast.AugAssign) and self.has(one.value) for one in reached.here)
        outside = not reached.certain and path in self._function.scope.parameters
        return not outside and (grown or (bool(made) and all(self._is_given(one, item) for one in made)))

    def _is_given(self, one: Definition, item: Item) -> bool:
        at = one.at if one.at is not None else item
        return not one.each and not isinstance(one.node, ast.withitem) and self.has(one.value, at)

    def _is_made(self, call: ast.Call, at: Item) -> bool:
        """What a call returns."""
        func, path = call.func, path_of(call.func)
        if isinstance(func, ast.Attribute):
            if func.attr in wording.CUTS:
                return False
            if (
                func.attr in wording.SMOOTH
                and not wording.INTEGER.search(written(call))
                and (self.has(func.value) or self._asked(call, func.value))
            ):
                return True
            if func.attr == "get" and call.args:
                return self.has(func.value, item_of(call.args[0]))
        if path is None or any(isinstance(one, ast.Starred) for one in call.args):
            return False
        dotted, given = self._function.scope.dotted(path), [*call.args, *(one.value for one in call.keywords)]
        if dotted.startswith("torch."):
            differs = dotted.rpartition(".")[2] in wording.SMOOTH or dotted.startswith("torch.nn.functional.")
            return differs and (any(map(self.has, given)) or self._asked(call, *given))
        callee = called(path, self._function.scope)
        if callee is not None and callee.node.name not in ("forward", "__call__"):
            return self._returns(callee, call, at)
        if dotted != path:
            return False  # a function of another file, which cannot be read
        whole = at is None or (isinstance(at, str) and _OUTPUT.search(at) is not None)
        return whole and (self._is_trained(path, callee) or (self._is_criterion(path) and any(map(self.has, given))))

    def _asked(self, node: ast.AST, *given: ast.expr) -> bool:
        """Whether something is computed of a tensor that was made to get a gradient, and autograd looks on."""
        asked = any(isinstance(one, ast.Name) and self._is_leaf(one) for one in given)
        return asked and not self._is_quiet(node)

    def _is_leaf(self, node: ast.Name) -> bool:
        """delta = torch.zeros(3, requires_grad=True)"""
        if not self._leaves and not self._function.file.says("requires_grad"):
            return False
        reached = self._names.reaching(node.id, node)
        if reached is None:
            return node.id in self._leaves
        made = [*reached.here, *(() if reached.certain else reached.around)]
        return reached.certain and all(one.at is None and makes_leaf(one.value) for one in made)

    def _is_criterion(self, path: str) -> bool:
        """A loss function that is kept or handed in, not a helper that is named for losses."""
        scope, root = self._function.scope, path.partition(".")[0]
        cls = scope.owner if root == "self" else None
        kept = cls is not None and any(path in one.assigned for one in cls.lineage())
        handed = path in scope.parameters or bool(self._names.every(path)) or path in scope.module.assigned
        return _is_loss(path) and (kept or handed)

    def _is_trained(self, path: str, forward: Function | None) -> bool:
        """A model that is called one, or whose parameters this file asks for; as far as it can be read, it returns one
        thing."""
        if self._live is not None or FROZEN.search(path) or _is_loss(path):
            return False
        file = self._function.file
        last = path.removesuffix(".forward").rpartition(".")[2]
        backs = self._function.file.program.nodes(forward.node).of(ast.Return) if forward is not None else []
        known = last not in _PLAIN or any(file.says(f"{last}.{way}(") for way in _OF_MODULES)
        plain = all(not isinstance(back.value, ast.Tuple) and not _cuts(back.value) for back in backs)
        return plain and known and (_MODEL.search(last) is not None or self._function.file.says(f"{last}.parameters()"))

    def _returns(self, function: Function, call: ast.Call, at: Item) -> bool:
        """Of a function of this project: whichever of its ways it takes."""
        nodes = self._function.file.program.nodes(function.node)
        values = [back.value for back in nodes.of(ast.Return)]
        given = list(arguments(call, function)) if self._deep and values else []
        live = frozenset(name for name, its in given if self.has(its))
        leaves = frozenset(name for name, its in given if isinstance(its, ast.Name) and self._is_leaf(its))
        if not (live or leaves) or nodes.of(ast.Yield):
            return False
        reading = Reading(function.node, (), function.scope, self._function.file)
        inside = Graphs(reading, live, self._deep - 1, leaves)
        return all(value is not None and inside.has(value, at) for value in values)


def is_constant(value: ast.expr) -> bool:
    """0.0, [0, 0], torch.tensor(0.0)"""
    match value:
        case ast.Call(func=ast.Attribute(attr="tensor"), keywords=named) if any(
            one.arg == "requires_grad" for one in named
        ):
            return False  # a leaf, whatever it begins with
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Call(func=ast.Attribute(attr="tensor"), args=items):
            return bool(items) and all(map(is_constant, items))
    return isinstance(value, ast.Constant)


def is_number(value: ast.expr, scope: Scope) -> bool:
    """np.array(losses).sum() / len(losses): whatever it was made of, it has no graph."""
    match value:
        case ast.BinOp(left=left, right=right):
            return is_number(left, scope) and is_number(right, scope)
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner)):
            return is_number(inner, scope)
        case ast.Call(func=func):
            return scope.dotted(path_of(func) or "").partition(".")[0] in _NUMBERS
    return isinstance(value, ast.Constant)


def _cuts(value: ast.expr | None) -> bool:
    """self.layer(x).argmax(-1)"""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in wording.CUTS


def _is_loss(path: str) -> bool:
    return _LOSS.search(path) is not None
