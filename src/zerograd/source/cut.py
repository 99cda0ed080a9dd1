"""Which values of a function surely have no graph, and were cut from one: what is computed of them teaches nothing.

`entropy.item()`, `torch.tensor(values)`, whatever a model returned under no_grad(). A value is followed back to every
assignment that reaches it; what cannot be read may have a graph.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import cached_property

from zerograd.source import wording
from zerograd.source.callers import called
from zerograd.source.definitions import Definition, Item, definitions_of, item_of
from zerograd.source.graphs import is_constant
from zerograd.source.leaves import leaves_of, makes_leaf
from zerograd.source.nodes import below, holds
from zerograd.source.paths import path_of
from zerograd.source.quiet import quiet_parts
from zerograd.source.reading import Reading
from zerograd.source.scopes import Function, Role, Scope

_CUTS = frozenset({"detach", "item", "numpy", "tolist"})
_COPIES = frozenset({"tensor", "Tensor", "FloatTensor", "DoubleTensor", "from_numpy"})
_MAKES = frozenset(
    {"zeros", "ones", "rand", "randn", "full", "arange", "zeros_like", "ones_like", "rand_like", "randn_like"}
)
_DIFFERS = re.compile(r"^torch\.(nn\.functional\.)?[a-z]\w*$")
_LEARNED = re.compile(
    r"loss|entropy|(^|_)(kl|kld|ent)(_|$)|log_?p|logit|pred|output|fake|recon|critic|discrim|disc_|score|value"
)
_WEIGHTLESS = frozenset({"Sigmoid", "Tanh", "ReLU", "LeakyReLU", "Softmax", "LogSoftmax", "Softplus", "Flatten"})
_OF_SETTINGS = re.compile(r"^(self\.)?(args?|opts?|options|cfg|conf|config|hparams|flags|FLAGS)(\.|\[')")
_COEFFICIENT = re.compile(r"coef|lambda|lmbda|gamma|(^|_)eps", re.IGNORECASE)
_PACKED = ("pack_", "PackedSequence")
_READERS = frozenset(
    {"numpy", "math", "len", "sum", "max", "min", "abs", "print", "range", "zip", "enumerate", "float"}
)
_OPENS = frozenset({"load", "compile", "jit", "hub"})  # whatever they give is no function of what they are given
_DEPTH, _LONGEST = 40, 2000
_FEW = 12  # names that are followed to see whether a model is among those who made them


class Has(IntEnum):
    """What a value has of a graph; of several that are put together, the most."""

    NOTHING = 0  # a number, a setting, data
    LOST = 1  # the graph that it had
    MAYBE = 2


class Cut:
    """The values of one function."""

    def __init__(self, function: Reading, *, deep: bool = True) -> None:
        self._function, self._deep = function, deep
        self._names = definitions_of(function)
        self._quiet = list(quiet_parts(function))
        self._leaves = leaves_of(function)
        self._known: dict[tuple[int, Item], Has] = {}
        self._open: dict[tuple[int, Item], int] = {}  # what is being asked for, each with its place
        self._since = _DEPTH  # the first of them that an answer rests on
        self._steps = 0

    def of(self, node: ast.expr, at: Item = None) -> Has:
        key = id(node), at
        if key in self._known:
            return self._known[key]
        if key in self._open:  # a value that is made of itself is what it was before
            self._since = min(self._since, self._open[key])
            return Has.NOTHING
        if len(self._open) > _DEPTH or self._steps > _LONGEST:
            return Has.MAYBE
        self._steps += 1
        before, self._since = self._since, len(self._open)
        self._open[key] = here = len(self._open)
        found = self._of(node, at)
        del self._open[key]
        if self._since >= here or found is Has.MAYBE:  # otherwise it may be more than what it was before
            self._known[key] = found
        self._since = min(before, self._since)
        return found

    def _of(self, node: ast.expr, at: Item) -> Has:
        match node:
            case ast.Constant() | ast.Compare():
                return Has.NOTHING
            case ast.Name() | ast.Attribute() | ast.Subscript() if (path := path_of(node)) is not None:
                return self._is_bound(path, node, at)
            case ast.Subscript(value=value):
                return self.of(value, item_of(node.slice))
            case ast.BinOp(left=left, right=right):
                return self._most((left, right))
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.IfExp(body=body, orelse=orelse):
                return _most(self.of(one, at) for one in (body, orelse))
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self.of(items[at]) if isinstance(at, int) and at < len(items) else self._most(items)
            case ast.ListComp(elt=each) | ast.GeneratorExp(elt=each):
                return self.of(each)
            case ast.Call():
                return self._is_made(node)
        return Has.MAYBE

    def _most(self, nodes: Iterable[ast.expr]) -> Has:
        return _most(self.of(node) for node in nodes)

    def _is_bound(self, path: str, use: ast.expr, at: Item) -> Has:
        parts = path.replace("[", ".").split(".")
        if (
            path in self._leaves
            or parts[0] in self._leaves
            or ("grad" in parts and self._function.file.says("create_graph"))
        ):
            return Has.MAYBE
        if "data" in parts[1:] and (any(map(self._function.file.says, _PACKED)) or ".data[" in path):
            return Has.MAYBE  # what a PackedSequence calls its values, or a graph the features of its nodes
        if "data" in parts[1:]:
            learned = isinstance(use, ast.Attribute) and use.attr == "data" and self._is_learned(use.value)
            return Has.LOST if learned else Has.NOTHING
        if _OF_SETTINGS.search(path) or not wording.CUTS.isdisjoint(parts[1:]):
            return Has.NOTHING
        reached = self._names.reaching(path, use)
        if reached is None:
            return self._is_outside(path)
        if not reached.certain and path.partition(".")[0].partition("[")[0] in (
            "self",
            *self._function.scope.parameters,
        ):
            return Has.MAYBE
        item = at if reached.item is None else reached.item
        made = [*reached.here, *(one for one in reached.around if one not in reached.here)]
        if any(map(_begins, made)) and parts[0] in self._filled:
            return Has.MAYBE
        return _most(self._is_given(one, item) for one in made) if made else Has.MAYBE

    @cached_property
    def _filled(self) -> frozenset[str]:
        """The names that somebody else may put something into: what is handed to a call, changed in place, or known to
        a function inside this one."""
        found: set[str] = set()
        for call in self._function.of(ast.Call):
            dotted = self._dotted(path_of(call.func) or "?")
            if isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
                found |= {part.id for part in below(call.func.value) if isinstance(part, ast.Name)}
            if dotted.startswith("torch.") or dotted.partition(".")[0] in _READERS or self._is_criterion(call.func):
                continue
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            found |= {part.id for part in given if isinstance(part, ast.Name)}
        for inner in (*self._function.of(ast.FunctionDef), *self._function.of(ast.Lambda)):
            found |= {part.id for part in below(inner) if isinstance(part, ast.Name)}
        return frozenset(found)

    def _is_given(self, one: Definition, item: Item) -> Has:
        if isinstance(one.node, ast.withitem):
            return Has.MAYBE
        return self.of(one.value, None if one.each else one.at if one.at is not None else item)

    def _is_outside(self, path: str) -> Has:
        """What a function is given, or a class or a module keeps: a number, where that is all it is ever made."""
        scope = self._function.scope
        if path in scope.parameters:
            return Has.NOTHING if self._has_default(path) else Has.MAYBE
        if path.startswith("self.") and scope.owner is not None:
            made = list(self._assigned(scope.owner, path))
            kept = {attribute for cls in scope.owner.lineage() for attribute in cls.kept}
            plain = bool(made) and all(is_constant(one) or _OF_SETTINGS.search(path_of(one) or "") for one in made)
            return Has.NOTHING if plain or (path in kept and self._is_number(path)) else Has.MAYBE
        module = definitions_of(Reading(self._function.file.program.tree, (), scope.module, self._function.file))
        made = [one.value for one in module.every(path)]
        imported = path in scope.module.imports and self._is_number(path)  # from config import gamma
        return Has.NOTHING if imported or (made and all(map(is_constant, made))) else Has.MAYBE

    def _is_number(self, path: str) -> bool:
        """Whether it is named for a coefficient, and for none that is learned: Adam([self.log_alpha])."""
        return _COEFFICIENT.search(path.rpartition(".")[2]) is not None and not self._function.file.says(f"[{path}")

    def _assigned(self, cls: Scope, path: str) -> Iterator[ast.expr]:
        """What the methods of a class assign to an attribute."""
        file = self._function.file
        for method in dict.fromkeys(file.attributes(cls).get(path, ())):
            reading = Reading(method.node, (), method.scope, file)
            yield from (one.value for one in definitions_of(reading).every(path))

    def _has_default(self, name: str) -> bool:
        """def loss(x, beta=1.0)"""
        given = getattr(self._function.node, "args", None)
        if given is None:
            return False
        named = [argument.arg for argument in (*given.posonlyargs, *given.args)]
        last = dict(zip(reversed(named), reversed(given.defaults), strict=False))
        last |= {argument.arg: value for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)}
        default = last.get(name)
        return isinstance(default, ast.Constant) and isinstance(default.value, float | int)

    def _without(self, node: ast.expr) -> Has:
        """What is left of a value when its graph is cut off, if it had one by all that is said."""
        inside = self.of(node)
        return Has.LOST if inside is Has.LOST or (inside is Has.MAYBE and self._is_learned(node)) else Has.NOTHING

    def _is_learned(self, node: ast.expr) -> bool:
        """Whether it is made of what a model returns, by the names of it and of what it is made of."""
        pending, seen = [node], set[str]()
        for one in pending:  # it grows on the way
            for part in below(one):
                path = path_of(part) if isinstance(part, ast.Name | ast.Attribute) else None
                if isinstance(part, ast.Call) and wording.is_model(path_of(part.func) or ""):
                    return True
                if path is None or path in seen:
                    continue
                if _LEARNED.search(path.lower()):
                    return True
                seen.add(path)
                made = self._names.every(path) if len(seen) < _FEW else []
                pending += [its.value for its in made]
        return False

    def _is_made(self, call: ast.Call) -> Has:
        func, path = call.func, path_of(call.func)
        if makes_leaf(call):
            return Has.MAYBE
        given = [*call.args, *(one.value for one in call.keywords)]
        if isinstance(func, ast.Attribute) and func.attr in _CUTS:
            return self._without(func.value)
        if any(holds(block, call) for block in self._quiet):
            return Has.LOST if self._is_learned(call) else Has.NOTHING
        dotted = self._dotted(path) if path is not None else ""
        last = dotted.rpartition(".")[2]
        if dotted.startswith("torch.") and last in _COPIES:
            return max((self._without(one) for one in call.args), default=Has.NOTHING)
        if dotted.startswith("torch.") and last in _MAKES:
            return Has.NOTHING
        if dotted.partition(".")[0] in ("numpy", "math") or dotted in ("float", "int", "len"):
            return max((Has.LOST if self.of(one) is Has.LOST else Has.NOTHING for one in given), default=Has.NOTHING)
        if (
            (_DIFFERS.match(dotted) and last not in _OPENS)
            or dotted in ("sum", "abs", "max", "min")
            or self._is_criterion(func)
        ):
            return self._most(given)
        callee = called(path, self._function.scope) if path is not None else None
        if callee is not None:
            cuts = self._returns(callee) is not Has.MAYBE
            return Has.MAYBE if not cuts else Has.LOST if any(map(self._is_learned, given)) else Has.NOTHING
        if isinstance(func, ast.Attribute) and not dotted.startswith("torch."):
            return self._most((func.value, *given))
        return Has.MAYBE

    def _returns(self, function: Function) -> Has:
        """Of a function of this project that makes a new tensor of all it returns, whatever it is given."""
        nodes = self._function.file.program.nodes(function.node)
        values = [back.value for back in nodes.of(ast.Return)]
        if not self._deep or not values or nodes.of(ast.Yield) or None in values:
            return Has.MAYBE
        inside = Cut(Reading(function.node, (), function.scope, self._function.file), deep=False)
        return max(inside.of(value) for value in values if value is not None)

    def _dotted(self, path: str) -> str:
        """With what it was imported as, unless the function has a value of that name: from math import dist."""
        return path if self._names.every(path.partition(".")[0]) else self._function.scope.dotted(path)

    def _is_criterion(self, func: ast.expr) -> bool:
        """nn.MSELoss()(a, b), or what one was assigned to, or an activation: it has no weights of its own."""
        if isinstance(func, ast.Call):
            dotted = self._dotted(path_of(func.func) or "")
        else:
            made = self._function.scope.lookup(path_of(func) or "")
            dotted = made.made_by if made is not None and made.role is Role.TORCH else ""
        last = dotted.rpartition(".")[2]
        return dotted.startswith("torch.nn.") and (last in _WEIGHTLESS or last.endswith("Loss"))


def _most(several: Iterable[Has]) -> Has:
    """The most that any of them has; once one may have a graph, the others are not asked."""
    found = Has.NOTHING
    for has in several:
        found = max(found, has)
        if found is Has.MAYBE:
            break
    return found


def _begins(one: Definition) -> bool:
    """[], None, torch.zeros(3): what somebody may mean to fill."""
    match one.value:
        case ast.List() | ast.Dict() | ast.Constant(value=None):
            return True
        case ast.Call(func=func):
            return (path_of(func) or "").rpartition(".")[2] in _MAKES | {"empty", "empty_like", "list", "dict"}
    return False
