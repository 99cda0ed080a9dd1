"""Which names of a function may hold one another: Sequential(encoder, head), wrapper.net = net, parts.append(net).

An upper bound of what an object is made of or filled with. What a state_dict() brings is a copy.
"""

import ast
import re
from functools import cached_property

from zerograd.source.names.opaque import makes_object
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import BUILTINS, NUMBERS, is_data, is_setting
from zerograd.source.values.definitions import Definition, definitions_of
from zerograd.source.values.reading import Reading

_COPIES = frozenset({"load_state_dict", "deepcopy"})
_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential")
_TOOL = pattern(r"pars|args|conf|device|log|writ|crit|loss", re.IGNORECASE)
_HARMLESS = pattern(
    r"init|summar|count|print|load|save|log|freez|eval|test|valid|train|fit|watch|seed|info|optim|sched|plot|^len$",
    re.IGNORECASE,
)


class Bonds:
    def __init__(self, function: Reading) -> None:
        self._function = function
        self._held: dict[str, set[str]] = {}
        for node in function.of(ast.Assign):
            for target in node.targets:
                self._hold(target, node.value)
        for call in function.of(ast.Call):
            last = (path_of(call.func) or "").rpartition(".")[2]
            if isinstance(call.func, ast.Attribute) and last not in _COPIES:
                self._hold(call.func.value, *call.args, *(one.value for one in call.keywords))
            elif last == "setattr" and len(call.args) > 2:
                self._hold(call.args[0], call.args[2])

    def are_bound(self, one: str, others: frozenset[str]) -> bool:
        """Whether one of them may be a part of the other, or both have a part in common."""
        mine, theirs = self._parts(one), set[str]().union(*map(self._parts, map(_root, others)))
        return one in theirs or not mine.isdisjoint(map(_root, others)) or any(map(self._is_part, mine & theirs))

    def are_handed_out(self, modules: frozenset[str]) -> bool:
        """register(net), with use(net): somebody who returns nothing has them, and may run them."""
        calls = [item.context_expr for item in self._function.of(ast.withitem)]
        calls += [statement.value for statement in self._function.of(ast.Expr)]
        return any(
            isinstance(call, ast.Call)
            and not _HARMLESS.search(path_of(call.func) or "")
            and any(path_of(one) in modules for one in (*call.args, *(named.value for named in call.keywords)))
            for call in calls
        )

    def _hold(self, keeper: ast.expr, *parts: ast.expr) -> None:
        root = _root(path_of(keeper) or "")
        if root and root != "self" and root not in self._function.scope.module.imports:  # nn.Linear(4, 1)
            self._held.setdefault(root, set()).update(*map(_names, parts))

    def _parts(self, root: str) -> set[str]:
        every, pending = definitions_of(self._function).every, [root]
        for name in pending:  # it grows on the way
            found = {part for one in every(name) for part in _names(one.value)} | self._held.get(name, set())
            pending += sorted(found - set(pending))
        return set(pending[1:])

    def _is_part(self, name: str) -> bool:
        """A module, by all that is seen: no setting, no data. What makes one need not be called like a class:
        T.spline(1); but what torch itself makes so is a tensor."""
        if is_data(name) or is_setting(name) or _TOOL.search(name):
            return False
        made = definitions_of(self._function).every(name)
        return name in self._listed or any(makes_object(one.value) or self._makes_unseen(one) for one in made)

    def _makes_unseen(self, one: Definition) -> bool:
        """make_flow(3), T.spline(1), self.build(): anything; but a method of a value makes another, x.size(1)."""
        path = path_of(one.value.func) if isinstance(one.value, ast.Call) and one.at is None and not one.each else None
        if path is None or path.rpartition(".")[0] in ("", "self"):
            return path is not None and path not in BUILTINS
        scope = self._function.scope
        known = scope.dotted(path).partition(".")[0] in NUMBERS | {"torch"}
        return path.partition(".")[0] in scope.module.imports and not known

    @cached_property
    def _listed(self) -> set[str]:
        """What stands in a ModuleList, a Sequential, a ModuleDict: modules, whoever made them."""
        calls = [call for call in self._function.of(ast.Call) if (path_of(call.func) or "").endswith(_CONTAINERS)]
        return {part.id for call in calls for one in call.args for part in _elements(one) if isinstance(part, ast.Name)}


def _elements(given: ast.expr) -> list[ast.expr]:
    """Those of [a, b], of {"a": a}, of *parts; not what each is made of."""
    match given:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Dict(values=items):
            return items
        case ast.Starred(value=value):
            return [value]
    return [given]


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _names(node: ast.AST) -> set[str]:
    copied = {
        id(part)
        for call in below(node)
        if isinstance(call, ast.Call) and (path_of(call.func) or "").rpartition(".")[2] == "state_dict"
        for part in below(call)
    }
    return {part.id for part in below(node) if isinstance(part, ast.Name) and id(part) not in copied}
