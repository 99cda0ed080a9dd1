"""What the graph of a value goes through: the calls that recorded it, and the names that bring in what others recorded.

Names are followed back to every assignment that may reach them, into the functions of this project that return them,
and out to the callers that hand them in. The answer is an upper bound: two values that have no ancestor in common share
no graph. What was kept from an earlier iteration or an earlier call, or cannot be read, is KEPT: it may be any of them.
"""

import ast
from collections.abc import Iterable
from functools import cached_property

from zerograd.source.graphs.incoming import KEPT, NONE, OLD, Incoming
from zerograd.source.graphs.leaves import LEAF, Ancestors, leaves_of, makes_leaf, recorded
from zerograd.source.graphs.memories import forgets, hands_state, holds_values, may_carry, may_have_graphs, remembers
from zerograd.source.graphs.quiet import quiet_parts
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, Role
from zerograd.source.text import wording
from zerograd.source.text.nodes import holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import BUILTINS, COUNTS, CUTS, HANDS_OUT, NUMBERS, RANKS, SAME, SHAPES, TENSORS
from zerograd.source.values.callers import called
from zerograd.source.values.definitions import Definition, Item, definitions_of, is_key, item_at, item_of
from zerograd.source.values.objects import Objects
from zerograd.source.values.reading import LoopNode, Reading

_DEPTH, _DEEP = 40, 3
_WEIGHTS = frozenset({"weight", "weights", "class_weight", "class_weights"})  # of classes, in a criterion
_PARAMETERS = frozenset({"parameters", "named_parameters"})
_PASSES_ON = frozenset({"zip", "enumerate", "list", "tuple", "reversed", "iter", "tqdm", "DataLoader"})
_RUNS = frozenset({"checkpoint", "checkpoint_sequential", "data_parallel", "functional_call"})  # a module, in torch
_DRAWS = frozenset({"log_prob", "rsample", "entropy", "cdf", "icdf"})
_GOES = frozenset({"backward", "grad", "step", "zero_grad", "manual_backward"})


class Ancestry(Incoming):
    """The values of one function, with what it calls and what calls it `deep` levels away. `turns`: the loops whose
    earlier iterations matter; else all that go through a graph."""

    def __init__(self, function: Reading, deep: int = _DEEP, turns: list[LoopNode] | None = None) -> None:
        self._function, self._deep, self._told = function, deep, turns
        self._known: dict[tuple[int, Item], Ancestors] = {}
        self._visited: set[tuple[int, Item]] = set()
        self._depth, self._grew = 0, False
        self._names = definitions_of(function)
        self._called: dict[ast.AST, Ancestry] = {}
        self._parts: dict[tuple[ast.Call, int], ast.AST] = {}
        self._quiet = list(quiet_parts(function))
        self._leaves = leaves_of(function)
        self.objects = Objects(function)

    @cached_property
    def _turns(self) -> list[LoopNode]:
        """The loops that go through a graph in every iteration: what an earlier one made is older than that. What a
        loop makes that only computes, layer upon layer, is one graph."""
        if self._told is not None:
            return self._told
        goes = [node for node in self._function.of(ast.Call) if getattr(node.func, "attr", "") in _GOES]
        return [loop for loop in self._function.loops if any(holds(loop, node) for node in goes)]

    def of(self, node: ast.AST, at: Item = None) -> Ancestors:
        """The ancestors of an expression; `at`: of its item at this place. Names that are made of each other are gone
        round until nothing is new."""
        return self._settled(node, at) - (NONE if self._depth else {LEAF})

    def _settled(self, node: ast.AST, at: Item) -> Ancestors:
        if self._depth:
            return self._visit(node, at)
        self._grew = True
        while self._grew:
            self._grew = False
            self._visited.clear()
            found = self._visit(node, at)
        return found

    def _visit(self, node: ast.AST, at: Item) -> Ancestors:
        key = id(node), at
        known = self._known.get(key, NONE)
        if key in self._visited:
            return known
        self._visited.add(key)
        self._depth += 1
        self._function.file.patience -= 1
        endless = self._depth >= _DEPTH or self._function.file.patience < 0  # whatever it is, it may be older
        found = known | (OLD if endless else self._of(node, at))
        self._depth -= 1
        if found != known:
            self._known[key], self._grew = found, True
        return found

    def _of(self, node: ast.AST, at: Item) -> Ancestors:
        match node:
            case ast.Constant() | ast.Compare() | ast.JoinedStr():
                return NONE
            case ast.Attribute(attr=attr) if attr in CUTS:
                return NONE
            case ast.Name() | ast.Attribute() | ast.Subscript() if path_of(node) is not None:
                return self._of_path(path_of(node) or "", node, at)
            case ast.Call():
                return NONE if self._is_quiet(node) else self._of_call(node, at)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) if isinstance(at, int) and at < len(elements):
                return self.of(elements[at])
            case ast.Dict(keys=keys, values=values):
                named = [its for key, its in zip(keys, values, strict=True) if is_key(key, at)]
                return self._union(named or values)
            case ast.Await() | ast.Yield():
                return OLD
            case ast.NamedExpr(value=value) | ast.Starred(value=value) | ast.Lambda(body=value):
                return self.of(value, at)
            case ast.Subscript(value=value):
                return self.of(value, item_of(node.slice))
            case ast.ListComp(elt=each) | ast.GeneratorExp(elt=each) | ast.SetComp(elt=each) | ast.DictComp(value=each):
                return self.of(each)
        return self._union(part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))

    def _union(self, nodes: Iterable[ast.AST]) -> Ancestors:
        return NONE.union(*map(self.of, nodes))

    def _is_quiet(self, node: ast.AST) -> bool:
        return any(holds(block, node) for block in self._quiet)

    # Names

    def _of_path(self, path: str, use: ast.AST, at: Item) -> Ancestors:
        if wording.is_setting(path) or not CUTS.isdisjoint(path.replace("[", ".").split(".")[1:]):
            return NONE
        if self.objects.is_module(path):
            return self._made_with(path)
        reached = self._names.reaching(path, use)
        if path in self._leaves:
            return NONE.union({LEAF}, *(self._made(one) for one in (reached.here if reached is not None else ())))
        if reached is None:
            return self._from_outside(path)
        item = at if reached.item is None else reached.item
        found = NONE.union(*(self._made(one, item) for one in reached.here))
        for one in reached.around:
            made = self._made(one, item)
            ways = [loop for loop in reached.loops if loop in self._turns and holds(loop, one.node)]
            found |= made | OLD if made and ways else made
        return found if reached.certain else found | self._from_outside(path)

    def _made(self, one: Definition, item: Item = None) -> Ancestors:
        if one.each and wording.is_data(written(one.value)):
            return self._handed_out(one.value)
        if self._is_quiet(one.node) and path_of(one.value) is None:
            return NONE
        at = one.at if one.at is not None else item
        found = self._settled(one.value, at)
        return found if self._is_handed_back(one.value) else recorded(one.node, one.value, found)

    def _handed_out(self, value: ast.expr) -> Ancestors:
        """What a loader hands out has no graph; what a list of losses or of chunks hands out may."""
        match value:
            case ast.Call(func=ast.Attribute(value=whole, attr="split" | "chunk" | "unbind"), args=args):
                return self._union([whole, *args])
            case ast.Call(func=func, args=args) if (path_of(func) or "").rpartition(".")[2] in _PASSES_ON:
                return NONE.union(*map(self._handed_out, args))
            case ast.Call(func=func, args=args) if (path_of(func) or "").endswith("TensorDataset"):
                return self._union(args)
            case ast.Name(id=name):
                made = [one.value for one in self._names.every(name) if not one.each and one.at is None]
                return NONE.union(*(self._handed_out(one) for one in made if isinstance(one, ast.Call)))
        return NONE

    def _is_handed_back(self, value: ast.expr) -> bool:
        """x = to_variable(x): a leaf that a function of this project returns is one still."""
        path = path_of(value.func) if isinstance(value, ast.Call) and self._deep else None
        return path is not None and called(path, self._function.scope) is not None

    # Calls

    def _of_call(self, call: ast.Call, at: Item) -> Ancestors:
        func, path, scope = call.func, path_of(call.func), self._function.scope
        if isinstance(func, ast.Attribute) and func.attr in CUTS and func.attr != "grad":
            return NONE
        given = self._union([*call.args, *(keyword.value for keyword in call.keywords)])
        if makes_leaf(call):  # what had a graph before it was asked for its gradient has it still
            own = self.of(func.value) if isinstance(func, ast.Attribute) and func.attr == "requires_grad_" else NONE
            return own | {LEAF}
        shapes = isinstance(func, ast.Attribute) and func.attr in SHAPES
        if shapes and not scope.dotted(path or "").startswith("torch."):
            given = NONE  # numbers
        if path is None:
            return self.of(func.value) | given if isinstance(func, ast.Attribute) else given | {call}
        dotted = scope.dotted(path)
        root, last = dotted.partition(".")[0], dotted.rpartition(".")[2]
        if root in NUMBERS or wording.makes_data(last) or wording.measures(last):
            return NONE
        function = called(path, scope)
        if not given and wording.loads(last) and not may_have_graphs(function):
            return NONE
        if root == "torch":
            plain = wording.is_made_anew(last) or last in COUNTS or (at == 1 and last in RANKS)
            return NONE if plain else given | ({call} if last in _RUNS else NONE)
        if path == "next" and call.args and wording.is_loader(path_of(call.args[0]) or ""):
            return NONE
        if path in BUILTINS or last in HANDS_OUT or self.objects.is_class(path):
            return given
        owner, _, name = path.rpartition(".")
        if not self.objects.is_value(owner) and wording.hands_out_data(owner, name):
            return NONE
        if function is not None:
            found = self._returned(function, call, at) if self._deep else given | OLD | {call}
            return found | self._made_with(owner or path)
        return given | self._of_object(call, path)

    def _of_object(self, call: ast.Call, path: str) -> Ancestors:
        """A module, or a method of something: what it is called on, and a graph of its own."""
        owner, _, name = path.rpartition(".")
        tensor = name in SAME or name in TENSORS or self.objects.is_value(owner)
        if isinstance(call.func, ast.Attribute) and tensor:
            return self.of(call.func.value)
        if isinstance(call.func, ast.Attribute) and self._names.every(owner) and self.of(call.func.value):
            return self.of(call.func.value)  # Normal(mean, std).sample()
        if self.objects.is_distribution(owner):
            return self.of(call.func.value) if isinstance(call.func, ast.Attribute) else NONE
        if self._is_handed(owner) or (name in _DRAWS and owner):  # of parameters that others made
            return self._from_outside(owner) | {call}
        scope = self._function.scope
        binding = scope.lookup(path)
        read = binding is not None and not (binding.role is Role.INSTANCE and remembers(binding.made_by, scope))
        alone = bool(owner) and not call.args and not call.keywords  # of what it was given before
        alone = alone and (name not in _PARAMETERS or wording.computes_weights(self._function.file.text))
        # Where states that go from call to call are spoken of, a module that cannot be read may have one.
        carries = not read and not hands_state(call) and may_carry(self._function.file)
        unread = carries and not forgets(path, self._function)
        named = wording.keeps(owner) and owner.partition(".")[0] not in scope.module.imports  # import loss: a file
        kept = alone or named or wording.moves(name) or unread
        return frozenset({call}) | (OLD if kept else NONE) | self._made_with(owner or path)

    def _made_with(self, path: str) -> Ancestors:
        """A module has weights, and no graph but that of what it was made with."""
        made = [one.value for one in self._names.every(path) if isinstance(one.value, ast.Call)]
        own = [call for call in made if self.objects.is_class(path_of(call.func) or "")]
        given = [part for call in own for part in (*call.args, *(named.value for named in call.keywords))]
        held = [one.value for one in self._names.every(path) if holds_values(one.value)]
        return self._union([*(part for part in given if path_of(part) not in _WEIGHTS), *held])

    def _is_handed(self, name: str) -> bool:
        """Whether the call that handed this in knows more of it."""
        return False

    def _returned(self, function: Function, call: ast.Call, at: Item) -> Ancestors:
        """What a function of this project returns, told by what it was given."""
        inside = self._inside(function)
        yields = inside._function.of(ast.Yield)
        if function.node is self._function.node:
            return frozenset({call, KEPT})
        values = [one.value for one in yields if one.value is not None]
        values += [one.value for one in inside._function.of(ast.Return) if one.value is not None]
        found = NONE.union(*(recorded(one, item_at(one, at), inside._settled(one, at)) for one in values))
        if yields and not all(isinstance(one, str) and one in inside._function.scope.parameters for one in found):
            return frozenset({call, KEPT})  # it goes on where it was, with what it has
        given = dict(arguments(call, function))
        brought = NONE.union(*(self.of(given[name]) for name in found if isinstance(name, str) and name in given))
        if LEAF in brought:  # what it was computed of there, it is not any more
            brought = (brought - {LEAF}) | {call}
        unknown = {name for name in found - {KEPT, LEAF} if isinstance(name, str) and name not in given}
        starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        if starred and unknown:
            brought |= self._union(call.args)
        made = self._recorded_by(call, inside, values, at) if any(isinstance(one, ast.AST) for one in found) else NONE
        return made | brought | (found & {KEPT, LEAF})

    def _recorded_by(self, call: ast.Call, inside: "Ancestry", values: list[ast.expr], at: Item) -> Ancestors:
        """The call, for all that it returns; for one of several results that share nothing, that one alone."""
        several = values[0].elts if len(values) == 1 and isinstance(values[0], ast.Tuple) else []
        parts = [self._parts.setdefault((call, place), _part(call, place)) for place in range(len(several))]
        if not isinstance(at, int) or at >= len(several):
            return frozenset({call, *parts})
        each = [{one for one in inside.of(item) if isinstance(one, ast.AST)} for item in several]
        shared = any(each[at] & other for place, other in enumerate(each) if place != at)
        return frozenset({call}) if shared else frozenset({parts[at]})

    def _handed_by(self, where: Reading, argument: ast.expr) -> Ancestors:
        return Ancestry(where, self._deep - 1).of(argument)

    def _inside(self, function: Function) -> "Ancestry":
        if function.node not in self._called:
            reading = Reading(function.node, (), function.scope, self._function.file)
            turns = None if self._told is None else list[LoopNode]()  # what it does, it does within one iteration
            self._called[function.node] = _Called(reading, self._deep - 1, turns)
        return self._called[function.node]


def _part(call: ast.Call, place: int) -> ast.AST:
    """One of the results of a call, as something that others can be made of."""
    return ast.copy_location(ast.Subscript(call, ast.Constant(place), ast.Load()), call)


class _Called(Ancestry):
    """A function as one call sees it: what it is handed, that call knows."""

    def _is_handed(self, name: str) -> bool:
        return name in self._function.scope.parameters and name != "self"

    def _handed(self, name: str) -> Ancestors:
        return frozenset({name})
