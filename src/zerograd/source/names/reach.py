"""Which modules a loss reaches: whose parameters its backward deposits into, where the text proves it.

Names are followed to the assignments that reach them, and calls of the project's own functions into those. What is
detached, made under `no_grad`, handed to a function we cannot see through, or assigned on some paths only proves
nothing. The answer is a lower bound: silence is always right.
"""

import ast

from zerograd.source.names.defining import Definition, Definitions, Place
from zerograd.source.names.networks import is_network
from zerograd.source.names.passing import passed_on
from zerograd.source.names.roles import role_of
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

Modules = frozenset[str]
NOTHING: Modules = frozenset()
Fed = frozenset[tuple[str, str]]  # a module, and one whose output it is given: D, G of D(G(z))
_CUTS = frozenset(
    {"detach", "detach_", "data", "item", "numpy", "tolist", "grad", "shape", "size", "argmax", "no_grad"}
    | {"sample", "multinomial", "bernoulli", "one_hot", "long", "int", "byte", "bool", "argsort"}  # drawn, or counted
    | {"round", "sign", "floor", "ceil", "trunc", "gt", "ge", "lt", "le", "eq", "ne", "new_tensor", "as_tensor"}
    | {"ones_like", "zeros_like", "full_like", "empty_like", "rand_like", "randn_like", "new_ones", "new_zeros"}
    | {"new_full", "dim", "numel", "ndim", "device", "dtype", "requires_grad", "parameters"}
)
_LIKE = frozenset({"type_as", "expand_as", "view_as", "reshape_as"})  # of the other only what it looks like
_FREEZES = pattern(
    r"set_requires_grad|toggle_grad|toggle_optimizer|freeze|\.requires_grad\s*=|requires_grad_\((?!\)|True)|Revers|grad_reverse"
)
# One of these is in each of them. GradientReversal, ReverseLayer: what is left in others is meant for them.
_FROZEN = ("freeze", "toggle_", "requires_grad", "Revers", "grad_reverse")
_DEPTH = 16
_SPLITS = 3  # branches that are followed into both arms
_CALLS = 3  # functions that call functions


def freezes(text: str) -> bool:
    """Whether parameters are frozen and thawed, or gradients reversed: then a loss does not tell whom it is for."""
    return any(word in text for word in _FROZEN) and _FREEZES.search(text) is not None


class Reach:
    """The values of one function. `called`: how many calls of the project's functions have led here; `given`: what each
    parameter was made of there; `networks`: those that were modules there."""

    def __init__(
        self,
        function: ast.AST,
        scope: Scope,
        *,
        called: int = 0,
        given: dict[str, Modules] | None = None,
        networks: Modules = NOTHING,
    ) -> None:
        self._scope, self._called, self._given, self._networks = scope, called, given or {}, networks
        self._made = Definitions(function)
        self._fed: set[tuple[str, str]] = set()
        self._known: dict[tuple[str, Place], Modules] = {}

    def with_fed(self, loss: ast.expr) -> tuple[Modules, Fed]:
        """The modules that a loss reaches, and which of them it reaches through which others."""
        self._fed, self._known = set(), {}
        return self.of(loss), frozenset(self._fed)

    def of(self, loss: ast.expr) -> Modules:
        found = self._made.at(loss.lineno)
        return NOTHING if found is None or found[1] else self._of(loss, found[0], 0)

    def returned(self, position: int | None) -> tuple[Modules, Fed]:
        """What the function gives back, whichever way it ends, and of several values the one at `position`."""
        found: list[Modules] = []
        for node in self._made.returned:
            several = isinstance(node.value, ast.Tuple)
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if several and position is not None:
                values = values[position : position + 1]
            found += [self.of(value) if value is not None else NOTHING for value in values] or [NOTHING]
        modules = frozenset.intersection(*found) if found else NOTHING
        return modules, frozenset(pair for pair in self._fed if pair[0] in modules)

    def _of(self, node: ast.expr, place: Place, depth: int, position: int | None = None) -> Modules:
        if depth > _DEPTH:
            return NOTHING

        def go(inner: ast.expr) -> Modules:
            return self._of(inner, place, depth + 1)

        match node:
            case ast.Call():
                return self._of_call(node, place, depth, position)
            case ast.BinOp(left=left, right=right):
                return go(left) | go(right)
            case ast.Subscript(value=ast.Call() as inner, slice=ast.Constant(value=int(number))) if number >= 0:
                return self._of(inner, place, depth + 1, number)
            case ast.Subscript() if self._called:
                return NOTHING  # of what it was given a function may take the part that is real
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
                return go(inner)
            case ast.IfExp(body=body, orelse=orelse):
                return go(body) & go(orelse)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return NOTHING.union(*map(go, elements)) if elements else NOTHING
            case ast.ListComp(elt=each, generators=[over]) | ast.GeneratorExp(elt=each, generators=[over]):
                return self._of_each(each, over, place, depth)
            case ast.Attribute(attr=attr) if attr in _CUTS:
                return NOTHING
            case ast.Name() | ast.Attribute():
                return self._of_name(node, place, depth)
        return NOTHING

    def _of_each(self, each: ast.expr, over: ast.comprehension, place: Place, depth: int) -> Modules:
        """sum(bce(out, ones) for out in D(fake)): the variable is what it runs over, whatever else has its name."""
        name = path_of(over.target)
        if over.ifs or name is None or self._made.of(name) or name in self._given:
            return NOTHING
        self._given[name] = self._of(over.iter, place, depth + 1)
        found = self._of(each, place, depth + 1)
        del self._given[name]
        return found

    def _of_name(self, node: ast.Name | ast.Attribute, place: Place, depth: int) -> Modules:
        path = path_of(node) or ""
        earlier = self._made.before(path, place)
        if not earlier:
            if isinstance(node, ast.Attribute):
                return self._of(node.value, place, depth + 1)
            return self._given.get(path, NOTHING)
        key = path, place
        if key not in self._known:
            self._known[key] = NOTHING
            self._known[key] = self._seen(node, earlier[-1], place, depth)
        return self._known[key]

    def _seen(self, node: ast.Name | ast.Attribute, made: Definition, place: Place, depth: int) -> Modules:
        """What a name is there, if this is the last assignment that may have been made."""
        branch = place.splits_at(made)
        if branch is not None:
            arms = [Place(place.line, (*place.branches, (branch[0], arm))) for arm in (True, False)]
            if len(place.branches) >= _SPLITS + len(made.branches):
                return NOTHING
            return self._of_name(node, arms[0], depth + 1) & self._of_name(node, arms[1], depth + 1)
        before = Place(made.line, place.branches)
        found = NOTHING if made.cut else self._of(made.value, before, depth + 1, made.position)
        return found | self._of_name(node, before, depth + 1) if made.adds else found

    def _of_call(self, call: ast.Call, place: Place, depth: int, position: int | None) -> Modules:
        func, path = call.func, path_of(call.func)
        if isinstance(func, ast.Attribute) and func.attr in _CUTS:
            return NOTHING
        path = path.removesuffix(".forward") if path is not None and path != "self.forward" else path
        own = self._function(path) if path is not None else None
        arguments = _used(call, own) if own is not None else [*call.args, *(one.value for one in call.keywords)]
        if isinstance(func, ast.Attribute) and func.attr in _LIKE:
            arguments = []
        given = NOTHING.union(*(self._of(argument, place, depth + 1) for argument in arguments))
        if own is not None:
            return given | self._inside(call, own, place, depth, position)
        if path is not None and self._is_network(path):
            self._fed.update((path, other) for other in given)
            return given | {path}
        if path is not None and (path == "sum" or self._passes(path, call)):
            return given
        if isinstance(func, ast.Attribute):  # a method of a tensor: fake.view(-1), D(x).mean()
            inner = self._of(func.value, place, depth + 1)
            return inner | given if inner else NOTHING
        return NOTHING

    def _is_network(self, path: str) -> bool:
        """Of what a function was handed, who handed it knows."""
        if self._called and path.partition(".")[0] in self._scope.parameters and not path.startswith("self."):
            return path in self._networks
        return is_network(path, self._scope, self._made)

    def _function(self, path: str) -> Function | None:
        """The project's function that a call runs: self(x) runs forward(x)."""
        return self._scope.function("self.forward" if path == "self" and self._scope.owner is not None else path)

    def _inside(self, call: ast.Call, own: Function, place: Place, depth: int, position: int | None) -> Modules:
        """What a function of the project returns, told in the names of who calls it."""
        node, home = own.node, own.scope.module.home
        elsewhere = own.scope.module is not self._scope.module
        if self._called >= _CALLS or node.decorator_list or (elsewhere and (home is None or freezes(home.text))):
            return NOTHING
        handed = _handed(call, own)
        if handed is None:
            return NOTHING
        given = {name: self._of(value, place, depth + 1) for name, value in handed.items()}
        names = {name: path for name, value in handed.items() if (path := path_of(value)) is not None}
        networks = frozenset(name for name, path in names.items() if self._is_network(path))
        inside = Reach(node, own.scope, called=self._called + 1, given=given, networks=networks)
        modules, fed = inside.returned(position)
        shares_self = (path_of(call.func) or "").partition(".")[0] == "self"
        known = NOTHING.union(*given.values())
        same = names | ({"self": "self"} if shares_self else {})
        if any(own.scope.owns(root := one.partition(".")[0]) and same.get(root) != root for one in known):
            return NOTHING  # one name for two things
        told = {one: one if one in known else _told(one, names, own, shares_self, elsewhere) for one in modules}
        for one, by in fed:
            pair = told.get(one), told.get(by, by if by in known else None)
            self._fed.update([(pair[0], pair[1])] if pair[0] is not None and pair[1] is not None else [])
        return frozenset(path for path in told.values() if path is not None)

    def _passes(self, path: str, call: ast.Call) -> bool:
        """A function of torch's gives a result that depends on what it is given."""
        role = role_of(call, self._scope)
        return self._scope.dotted(path).startswith("torch.") or (role is not None and role.role.name == "TORCH")


def _used(call: ast.Call, function: Function) -> list[ast.expr]:
    """What is handed to a function of the project, of which it makes what it returns."""
    passed = passed_on(function)
    handed = _handed(call, function) if passed else None
    return [value for name, value in handed.items() if name in passed] if handed is not None else []


def _handed(call: ast.Call, function: Function) -> dict[str, ast.expr] | None:
    """What each parameter is given; None if the text does not tell."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return None
    own = function.scope.parameters[:1] in (("self",), ("cls",))
    pairs = zip(function.scope.parameters[own:], call.args, strict=False)
    return dict([*pairs, *((one.arg, one.value) for one in call.keywords if one.arg is not None)])


def _told(path: str, names: dict[str, str], own: Function, shares_self: bool, elsewhere: bool) -> str | None:
    """A module by the name that the caller has for it; None if it has none there."""
    root = path.partition(".")[0].partition("[")[0]
    if root == "self":
        return path if shares_self else None
    if root in own.scope.parameters:
        return names[root] + path[len(root) :] if root in names else None
    return None if elsewhere or own.scope.owns(root) else path
