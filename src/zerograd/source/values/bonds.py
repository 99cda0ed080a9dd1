"""Which names of a function may hold one another: Sequential(encoder, head), wrapper.net = net, parts.append(net).

An upper bound of what an object is made of or filled with. What a state_dict() brings is a copy.
"""

import ast
import re

from zerograd.source.names.opaque import makes_object
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import is_data, is_setting
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_COPIES = frozenset({"load_state_dict", "deepcopy"})
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
        """A module, by all that is seen: no setting, no data."""
        made = definitions_of(self._function).every(name)
        return any(makes_object(one.value) for one in made) and not (
            is_data(name) or is_setting(name) or _TOOL.search(name)
        )


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
