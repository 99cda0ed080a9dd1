"""Generators of parameters that an optimizer has read to the end: whoever comes next gets nothing, in silence (ZG306).

self.params = chain(q1.parameters(), q2.parameters())
self.optimizer = Adam(self.params)
...
for p in self.params: p.requires_grad_(False)      # freezes nothing
clip_grad_norm_(self.params, 1.0)                  # clips nothing, under another name (clipped = self.params) as well

So it is with one that a loop reads in every iteration, and that was made before the loop; and with one that a function
of this project returns, alone or beside others, and that was counted before the optimizer gets it:

body, head = split(model)                          # head is a generator there
count = sum(p.numel() for p in head)
optimizer = Adam([{"params": body}, {"params": head}])
"""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.callees import Callee, callees_of
from zerograd.source.lowering.calls import site_of
from zerograd.source.names.roles import makes_optimizer, names_optimizer
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, below, holds, place
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.callers import called
from zerograd.source.values.reading import Reading

_CHAINS = ("itertools.chain", "itertools.chain.from_iterable")
_DRAINS = frozenset({"sum", "list", "tuple", "set", "sorted", "max", "min"})
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
_Use = ast.Call | ast.For
# Whatever else it does, it makes an optimizer of what it is given.
_HELPS = pattern(r"(^|\.)_*(make|create|build|get|init|configure|setup|set_up|prepare)_optim(izer)?$")
_SETTINGS = pattern(r"^(self\.)?(args?|cfg|config|conf|opts?|hparams|hp|flags|FLAGS|settings)$")


class _Maker(NamedTuple):
    call: ast.Call
    path: str  # of its file


class _Names:
    """What is assigned to each path of a function; one of several that are assigned at once gets a part of it."""

    def __init__(self, nodes: Nodes, scope: Scope) -> None:
        self.nodes, self.scope = nodes, scope
        self.made: dict[str, list[ast.expr]] = {}
        self._places: dict[tuple[str, ast.expr], int] = {}  # which part of a value a path gets
        for node in nodes.of(ast.Assign):
            for target in node.targets:
                several = isinstance(target, ast.Tuple | ast.List)
                for place_, part in enumerate(_parts(target)):
                    path = path_of(part)
                    if path is not None and node.value not in self.made.get(path, ()):
                        self.made.setdefault(path, []).append(node.value)
                        self._places |= {(path, node.value): place_} if several else {}
        self._stored = Counter(node.id for node in nodes.of(ast.Name) if isinstance(node.ctx, ast.Store))

    def generates(self, path: str, value: ast.expr) -> bool:
        """Whether what a path gets of a value is a generator."""
        at = self._places.get((path, value))
        if at is not None and isinstance(value, ast.Tuple | ast.List):
            return at < len(value.elts) and _is_generator(value.elts[at], self.scope)
        return (at is None and _is_generator(value, self.scope)) or _brings_generator(value, at, self.scope)

    def every(self, name: str) -> list[ast.expr]:
        """All that a path is bound to, one after the other: params = chain(params, more.parameters())"""
        made = self.made.get(name, [])
        known = self._stored[name] in (0, len(made)) and name not in self.scope.parameters
        return made if known else []

    def only(self, name: str) -> ast.expr | None:
        """What a path is bound to, if once and for all."""
        made = self.made.get(name, [])
        return made[0] if len(made) == 1 and self._stored[name] < 2 and name not in self.scope.parameters else None


def detect(function: Reading) -> Iterator[Finding]:
    names: _Names | None = None
    for read, use in _uses(function.nodes, function.scope) if _may_generate(function) else ():
        names = names or _Names(function.nodes, function.scope)
        name = _origin(read, names)
        here = _makers(name, names)
        # One that another branch may make instead has read nothing here: if adam: Adam(params) else: SGD(params)
        before = [call for call in here if call.lineno < use.lineno and function.arms(call) <= function.arms(use)]
        if here and not before:
            continue
        maker = _Maker(before[0], function.file.path) if before else _maker_elsewhere(name, names, function)
        where = use.iter if isinstance(use, ast.For) else use
        if maker is None and _recurs(function, name, use, names):
            reader = "this loop" if isinstance(use, ast.For) else f"{path_of(use.func)}()"
            told = {"name": read, "consumer": f"{reader} one iteration earlier"}
            yield note(REGISTRY["ZG306"], function.site(where), certain=True, related=(), **told)
        if maker is not None:
            there = site_of(maker.call, maker.path)
            line = f"on line {there.line}" if there.path == function.file.path else f"at {there.path}:{there.line}"
            told = {"name": read, "consumer": f"{path_of(maker.call.func)}() {line}"}
            related = (Related(there, "it is read to the end here"),)
            yield note(REGISTRY["ZG306"], function.site(where), certain=True, related=related, **told)


def _may_generate(function: Reading) -> bool:
    """Whether a generator may be named here; what an object has, another method may have made."""
    if function.scope.owner is not None:
        return True
    if function.made if function.file.says("itertools") else any(map(_may_bring, function.made)):
        return True
    generators = function.of(ast.GeneratorExp)
    return bool(generators) and any(node.value in generators for node in function.of(ast.Assign))


def _may_bring(name: str) -> bool:
    """filter(...), model.parameters(), split_params(model)"""
    return name == "filter" or "param" in name


def _last(func: ast.expr) -> str:
    """parameters of model.parameters, whatever it is asked of"""
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _recurs(function: Reading, name: str, use: _Use, names: _Names) -> bool:
    """Whether a generator that is made before a loop is read to the end in each of its iterations."""
    made = names.only(name)
    if made is None or not names.generates(name, made):
        return False
    around = [loop for loop in function.loops if loop is not use and holds(loop, use) and not holds(loop, made)]
    return any(_is_always(function, loop, use) and not _ends_early(loop) for loop in around)


def _is_always(function: Reading, loop: ast.AST, use: _Use) -> bool:
    """Whether every iteration comes to it; or none, where a setting decides: if self.clip > 0."""
    extra = function.arms(use) - function.arms(loop)
    return all(_is_setting(function, branch.test) and not _ends_early(branch) for branch, _ in extra)


def _is_setting(function: Reading, test: ast.expr) -> bool:
    """A flag or a number of an object for settings; or of `self`, if nobody sets it but __init__."""
    match test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.IsNot() | ast.NotEq()], comparators=[ast.Constant()]):
            path = path_of(left) or ""
        case _:
            path = path_of(test) or ""
    root, _, name = path.rpartition(".")
    if root != "self":
        return bool(name) and _SETTINGS.search(root) is not None and "[" not in path
    cls = function.scope.owner
    makers = function.file.attributes(cls).get(path, []) if cls is not None else []
    return bool(makers) and all(method.node.name == "__init__" for method in makers)


def _ends_early(loop: ast.AST) -> bool:
    return any(isinstance(node, ast.Break | ast.Return | ast.Raise) for node in below(loop))


def _makers(name: str, names: _Names) -> list[ast.Call]:
    """The optimizers that are given `name`, if that is a generator which is made here, and not anew behind them."""
    made = names.every(name)
    if not made or not all(names.generates(name, one) for one in made):
        return []
    last = max(map(place, made))
    calls = [call for call in names.nodes.of(ast.Call) if call.args and (_is_given(call, name) or _drains(call, name))]
    behind = [call for call in sorted(calls, key=place) if place(call) > last]
    return [call for call in behind if _drains(call, name) or _reads_to_the_end(call, names)]


def _drains(call: ast.Call, name: str) -> bool:
    """sum(p.numel() for p in params), list(params)"""
    if not isinstance(call.func, ast.Name) or call.func.id not in _DRAINS:
        return False
    given = call.args[0]
    read = given.generators[0].iter if isinstance(given, ast.GeneratorExp | ast.ListComp) else given
    return path_of(read) == name


def _is_given(call: ast.Call, name: str) -> bool:
    """Adam(params), create_optimizer("adam", params)"""
    given = call.args if _HELPS.search(path_of(call.func) or "") else call.args[:1]
    return any(path_of(one) == name for one in given)


def _reads_to_the_end(call: ast.Call, names: _Names) -> bool:
    """Whether it makes an optimizer, of a class by its name or by one that stands for several: `optimizer_cls`."""
    scope = names.scope
    if makes_optimizer(call, scope) or _HELPS.search(path_of(call.func) or ""):
        return True
    several = names.made.get(call.func.id, []) if isinstance(call.func, ast.Name) else []
    classes = [path_of(made) or "" for made in several]
    known = any(names_optimizer(path, scope) for path in classes)
    return known and all(names_optimizer(path, scope) or ".optim." in scope.dotted(path) for path in classes)


def _origin(name: str, names: _Names) -> str:
    """What a name was the first for: clipped = params gives it one more."""
    seen = {name}
    while (made := names.only(name)) is not None:
        other = path_of(made)
        if other is None or other in seen:
            break
        seen.add(name := other)
    return name


def _maker_elsewhere(name: str, names: _Names, function: Reading) -> _Maker | None:
    """The same for an attribute that another method makes, of its class or of one it derives from, and nobody anew."""
    cls = function.scope.owner
    if cls is None or not name.startswith("self.") or name in names.made:
        return None
    program = function.file.program
    made = list(dict.fromkeys(function.file.attributes(cls).get(name, [])))
    if len(made) != 1 or made[0].node is function.node or function.file.says("setattr("):
        return None
    if len(function.file.stores(cls, name)) != function.file.attributes(cls)[name].count(made[0]):
        return None  # self.params: list = list(self.params)
    calls = _makers(name, _Names(program.nodes(made[0].node), made[0].scope))
    return _Maker(calls[0], program.path_of(made[0])) if calls else None


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _uses(nodes: Nodes, scope: Scope) -> Iterator[tuple[str, _Use]]:
    """Where parameters are read from a name."""
    for call in nodes.of(ast.Call):
        if call.args and isinstance(call.args[0], _NAMED) and _reads_parameters(call, scope):
            name = path_of(call.args[0])
            if name:
                yield name, call
        for name in _grouped(call.args[0]) if call.args and call.args[0].__class__ is ast.List else ():
            if makes_optimizer(call, scope):
                yield name, call
    for loop in nodes.of(ast.For):
        name = path_of(loop.iter)
        if name:
            yield name, loop


def _grouped(groups: ast.expr) -> Iterator[str]:
    """[{"params": body}, {"params": head}]"""
    for group in groups.elts if isinstance(groups, ast.List) else ():
        for key, value in zip(group.keys, group.values, strict=True) if isinstance(group, ast.Dict) else ():
            path = path_of(value) if isinstance(key, ast.Constant) and key.value == "params" else None
            if path is not None:
                yield path


def _brings_generator(value: ast.expr, at: int | None, scope: Scope) -> bool:
    """Whether a function of this project returns one, at its place among several."""
    function = called(path_of(value.func) or "", scope) if isinstance(value, ast.Call) else None
    home = function.scope.module.home if function is not None else None
    returned = home.nodes(function.node).of(ast.Return) if home is not None and function is not None else []
    if function is None or home is None or len(returned) != 1 or function.node.decorator_list:
        return False
    back = returned[0].value
    if at is not None:
        back = back.elts[at] if isinstance(back, ast.Tuple) and at < len(back.elts) else None
    names = _Names(home.nodes(function.node), function.scope) if isinstance(back, ast.Name) else None
    back = names.only(back.id) if names is not None and isinstance(back, ast.Name) else back
    return back is not None and _is_generator(back, function.scope)


def _is_generator(value: ast.expr, scope: Scope) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="filter")) | ast.GeneratorExp():
            return True
        case ast.Call(func=ast.Attribute(attr="parameters") as func, args=[]):
            own = callees_of(path_of(func) or "", scope)  # a class of this project may have a list of them
            return all(map(_yields, own))
        case ast.Call(func=func, args=[_, *_]):
            return scope.dotted(path_of(func) or "") in _CHAINS
    return False


def _yields(callee: Callee) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in below(callee.function.node))


def _reads_parameters(call: ast.Call, scope: Scope) -> bool:
    name = _last(call.func)
    if name.startswith("clip_grad_"):
        return path_of(call.func) is not None
    return name[:1].isupper() and makes_optimizer(call, scope)
