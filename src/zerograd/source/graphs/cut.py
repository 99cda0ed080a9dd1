"""Which values of a function surely have no graph, and were cut from one: what is computed of them teaches nothing.

`entropy.item()`, `torch.tensor(values)`, whatever a model returned under no_grad(). A value is followed back to every
assignment that reaches it; what cannot be read may have a graph.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from zerograd.core.events import Kind
from zerograd.source.graphs.captured import is_captured
from zerograd.source.graphs.coefficients import is_named, is_set, is_told, of_settings
from zerograd.source.graphs.leaves import leaves_of
from zerograd.source.graphs.living import is_constant
from zerograd.source.graphs.makers import MAKES, Has, Makers, most
from zerograd.source.graphs.quiet import quiet_parts
from zerograd.source.graphs.revived import are_idle
from zerograd.source.names.literals import default_of
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text import wording
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import reading_of
from zerograd.source.values.definitions import Definition, Item, definitions_of, item_of
from zerograd.source.values.overwritten import overwritten
from zerograd.source.values.reading import Reading

_LEARNED = pattern(
    r"loss|entropy|(^|_)(kl|kld|ent)(_|$)|log_?p|logit|pred|output|fake|recon|critic|discrim|disc_|score|value"
)
_LOADER = pattern(r"^range$|load|data_?set|^data$|_data$|^(train|valid?|test)_?(set|iter|batches)$")
_HANDS_OUT = wording.HANDS_OUT | {"enumerate", "iter", "list", "zip", "reversed"}
_PACKED = ("pack_", "PackedSequence")
_READERS = frozenset(
    {"numpy", "math", "len", "sum", "max", "min", "abs", "print", "range", "zip", "enumerate", "float"}
)
_DEPTH, _LONGEST, _DEEP = 40, 2000, 3
_FEW = 12  # names that are followed to see whether a model is among those who made them


class Cut(Makers):
    """The values of one function; `given`: what the call in question hands to its parameters, as `outer` knows it."""

    def __init__(
        self,
        function: Reading,
        deep: int = _DEEP,
        given: Mapping[str, ast.expr] | None = None,
        outer: "Cut | None" = None,
    ) -> None:
        self._function, self._deep, self._given, self._outer = function, deep, given or {}, outer
        self._names = definitions_of(function)
        self._quiet = list(quiet_parts(function))
        self._leaves = leaves_of(function)
        self._known: dict[tuple[int, Item], Has] = {}
        self._open: dict[tuple[int, Item], int] = {}  # what is being asked for, each with its place
        self._since = _DEPTH  # the first of them that an answer rests on
        self._steps = 0
        self.revived = False  # whether something that was cut off was made a leaf again

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
            case ast.Constant():
                return Has.NOTHING
            case ast.Compare(left=left, comparators=others):
                return max(self._without(one) for one in (left, *others))
            case ast.Name() | ast.Attribute() | ast.Subscript() if (path := path_of(node)) is not None:
                return self._is_bound(path, node, at)
            case ast.Subscript(value=value):
                return self.of(value, item_of(node.slice))
            case ast.BinOp(left=left, right=right):
                return self._most((left, right))
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.IfExp(body=body, orelse=orelse):
                return most(self.of(one, at) for one in (body, orelse))
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self.of(items[at]) if isinstance(at, int) and at < len(items) else self._most(items)
            case ast.ListComp(elt=each) | ast.GeneratorExp(elt=each):
                return self.of(each)
            case ast.Call():
                return self._is_made(node, at)
        return Has.MAYBE

    def _most(self, nodes: Iterable[ast.expr]) -> Has:
        return most(self.of(node) for node in nodes)

    def _is_bound(self, path: str, use: ast.expr, at: Item) -> Has:
        parts = path.replace("[", ".").split(".")
        if path.endswith(".grad") and path.removesuffix(".grad") in self._leaves and self._records_nothing():
            return Has.LOST
        if self._may_be_leaf(path, parts):
            lost = self._is_revived(path, parts) and self._is_made_before(path, parts, use, at) is Has.LOST
            return self._revives() if lost else Has.MAYBE
        return self._is_made_before(path, parts, use, at)

    def _is_made_before(self, path: str, parts: list[str], use: ast.expr, at: Item) -> Has:
        """What was made of it, whether or not it was made a leaf since."""
        asked = parts[2:] if path.startswith("self.data") else parts[1:]  # of something; an object's own may be learned
        if "data" in asked and (any(map(self._function.file.says, _PACKED)) or ".data[" in path):
            return Has.MAYBE  # what a PackedSequence calls its values, or a graph the features of its nodes
        if "data" in asked:
            learned = isinstance(use, ast.Attribute) and use.attr == "data" and self._is_learned(use.value)
            return Has.LOST if learned else Has.NOTHING
        if not wording.CUTS.isdisjoint(asked):
            return Has.NOTHING
        if is_set(path, self._function):
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
        return most(self._is_given(one, item) for one in made) if made else Has.MAYBE

    def _records_nothing(self) -> bool:
        """Whether there is a backward() here, and none that could go through its gradients again."""
        calls = [act.node for act in self._function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
        told = any(len(call.args) > 1 or any(one.arg is None for one in call.keywords) for call in calls)
        return bool(calls) and not told and not self._function.file.says("create_graph")

    def _may_be_leaf(self, path: str, parts: list[str]) -> bool:
        """Whether a gradient is asked of it, here or by another method, or it is changed in place."""
        says, here = self._function.file.says, {path, parts[0]}
        if not here.isdisjoint(self._leaves) or not here.isdisjoint(self._overwritten):
            return True
        own = "loss" in path and self._function.scope.owns(path)  # another's of that name is another loss
        return (not own and says("requires_grad") and says(f"{path}.requires_grad")) or (
            "grad" in parts and says("create_graph")
        )

    def _is_revived(self, path: str, parts: list[str]) -> bool:
        """Whether all that makes a name a leaf is loss.requires_grad = True, and nobody asks for its gradient."""
        return (
            path in self._leaves
            and path.isidentifier()
            and {path, parts[0]}.isdisjoint(self._overwritten)
            and are_idle(self._function)
        )

    def _revives(self) -> Has:
        self.revived = True
        if self._outer is not None:
            self._outer._revives()
        return Has.LOST

    @cached_property
    def _overwritten(self) -> frozenset[str]:
        return overwritten(self._function)

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
        if one.each and self._is_data(one.value) and not _LEARNED.search(written(one.node).lower()):
            return Has.NOTHING
        return self.of(one.value, None if one.each else one.at if one.at is not None else item)

    def _is_data(self, over: ast.expr) -> bool:
        """Whether a loop goes over what a loader hands out: one that is named for it, and is made as loaders are."""
        while isinstance(over, ast.Call) and over.args and (path_of(over.func) or "").rpartition(".")[2] in _HANDS_OUT:
            over = over.args[0]
        path = path_of(over.func if isinstance(over, ast.Call) else over) or ""
        made = [one.value for one in self._names.every(path)] if not isinstance(over, ast.Call) else []
        named = _LOADER.search(path.rpartition(".")[2].lower()) is not None
        return named and all(isinstance(one, ast.Call) and self._is_data(one) for one in made)

    def _is_outside(self, path: str) -> Has:
        """What a function is given, or a class or a module keeps: a number, where that is all it is ever made."""
        scope = self._function.scope
        if path in self._given and self._outer is not None:
            return self._outer.of(self._given[path])
        if path in scope.parameters:
            return Has.NOTHING if self._has_default(path) else Has.MAYBE
        if path.startswith("self.") and scope.owner is not None:
            made = list(self._assigned(scope.owner, path))
            kept = {attribute for cls in scope.owner.lineage() for attribute in cls.kept}
            begin = scope.owner.method("__init__")
            plain = bool(made) and all(
                is_constant(one)
                or of_settings(path_of(one) or "")
                or (begin is not None and isinstance(one, ast.Name) and is_told(begin, one.id))
                for one in made
            )
            return Has.NOTHING if plain or (path in kept and self._is_number(path)) else Has.MAYBE
        if "[" in path and is_captured(path, self._function):
            return Has.LOST
        module = definitions_of(Reading(self._function.file.program.tree, (), scope.module, self._function.file))
        made = [one.value for one in module.every(path)]
        imported = path in scope.module.imports and self._is_number(path)  # from config import gamma
        return Has.NOTHING if imported or (made and all(map(is_constant, made))) else Has.MAYBE

    def _is_number(self, path: str) -> bool:
        """Whether it is named for a coefficient, and for none that is learned: Adam([self.log_alpha])."""
        return is_named(path) and not self._function.file.says(f"[{path}")

    def _assigned(self, cls: Scope, path: str) -> Iterator[ast.expr]:
        """What the methods of a class assign to an attribute."""
        file = self._function.file
        for method in dict.fromkeys(file.attributes(cls).get(path, ())):
            reading = Reading(method.node, (), method.scope, file)
            yield from (one.value for one in definitions_of(reading).every(path))

    def _has_default(self, name: str) -> bool:
        """def loss(x, beta=1.0); where the call is known, whatever else it leaves to be what it is."""
        node = self._function.node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        default = default_of(node, name)
        if self._given and isinstance(default, ast.Constant):
            return True
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
                handed = path in self._given and not self._names.every(path)
                if self._is_lent(path) or (not handed and _LEARNED.search(path.lower())):
                    return True
                seen.add(path)
                made = self._names.every(path) if len(seen) < _FEW else []
                pending += [its.value for its in made]
        return False

    def _is_lent(self, name: str) -> bool:
        """The same of what is given, if that may have a graph."""
        if name not in self._given or self._outer is None:
            return False
        its = self._given[name]
        return self._outer.of(its) is not Has.NOTHING and self._outer._is_learned(its)

    def _inside(self, function: Function, given: Mapping[str, ast.expr]) -> "Cut":
        return Cut(reading_of(function, self._function.file), self._deep - 1, given, self)


def _begins(one: Definition) -> bool:
    """[], None, torch.zeros(3): what somebody may mean to fill."""
    match one.value:
        case ast.List() | ast.Dict() | ast.Constant(value=None):
            return True
        case ast.Call(func=func):
            return (path_of(func) or "").rpartition(".")[2] in MAKES | {"empty", "empty_like", "list", "dict"}
    return False
