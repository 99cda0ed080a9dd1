"""What the first name of a path stands for, wherever a function can see it: settled once, and asked at every call."""

from enum import Enum

from zerograd.source.names.opaque import PACKAGES, is_foreign
from zerograd.source.names.scopes import Scope


class Standing(Enum):
    FOREIGN = "foreign"  # imported from Python, torch or another package that touches no gradient
    NAMED = "named"  # a function of the project, or imported from elsewhere
    BOUND = "bound"  # what is kept there is known, or who made it: an object may have methods of the project
    NOBODY = "nobody"  # a value like any other: parser.add_argument("--lr"), x.view(3)


class Names:
    """Those of one file."""

    def __init__(self) -> None:
        self._standing: dict[Scope, dict[str, Standing]] = {}
        self._bound: dict[Scope, frozenset[str]] = {}
        self._foreign: dict[Scope, frozenset[str]] = {}

    def foreign(self, scope: Scope) -> frozenset[str]:
        """The names that a scope can see and that are imported from Python, torch or another such package."""
        found = self._foreign.get(scope)
        if found is None:
            outer = self.foreign(scope.parent) if scope.parent is not None else frozenset[str]()
            outer = outer.difference(scope.imports, scope.parameters, scope.assigned, scope.functions)
            own = [name for name, dotted in scope.imports.items() if dotted.partition(".")[0] in PACKAGES]
            found = self._foreign[scope] = outer.union(own) if own else outer
        return found

    def of(self, path: str, scope: Scope) -> Standing:
        """Whose a path is, by its first name."""
        asked = self._standing.get(scope)
        if asked is None:
            asked = self._standing[scope] = {}
        head = path.partition(".")[0]
        found = asked.get(head)
        if found is None:
            found = asked[head] = self._find(head, scope)
        return found

    def _find(self, head: str, scope: Scope) -> Standing:
        if is_foreign(head, scope):
            return Standing.FOREIGN
        root = head.partition("[")[0]
        if root == "self" or root in self._in_sight(scope):
            return Standing.BOUND
        # Where all names of another file are imported, any may be one of its functions.
        return Standing.NAMED if scope.module.stars or _is_named(root, scope) else Standing.NOBODY

    def _in_sight(self, scope: Scope) -> frozenset[str]:
        """The first names of all that this scope, and those around it, know something of."""
        found = self._bound.get(scope)
        if found is None:
            paths = (*scope.bindings, *scope.makers, *scope.workers)
            outer = self._in_sight(scope.parent) if scope.parent is not None else frozenset[str]()
            roots = {path.partition(".")[0].partition("[")[0] for path in paths}
            found = self._bound[scope] = outer | roots if roots else outer
        return found


def _is_named(name: str, scope: Scope | None) -> bool:
    while scope is not None and name not in scope.functions and name not in scope.imports:
        scope = scope.parent
    return scope is not None
