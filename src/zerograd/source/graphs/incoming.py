"""What the names of a function bring in from outside it: attributes, variables around it, what callers hand in.

An upper bound, as all of ancestry: what was kept from an earlier call, or cannot be read, is KEPT.
"""

import ast
import re
from abc import ABC, abstractmethod

from zerograd.source.graphs.leaves import LEAF, Ancestors, leaves_of
from zerograd.source.names.literals import default_of
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text import wording
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import handed_in
from zerograd.source.values.definitions import Definition, Definitions, Item
from zerograd.source.values.reading import Reading

KEPT = "?"
_LEARNED = "exp|softmax|sigmoid|softplus"
NONE: Ancestors = frozenset()
OLD: Ancestors = frozenset({KEPT})


class Incoming(ABC):
    """One function, seen `deep` levels away from the one that was asked for."""

    _function: Reading
    _deep: int
    _names: Definitions

    @abstractmethod
    def _made(self, one: Definition, item: Item = None) -> Ancestors:
        """The ancestors of what one assignment made."""

    @abstractmethod
    def _inside(self, function: Function) -> "Incoming":
        """Another function, as this one sees it."""

    @abstractmethod
    def _handed_by(self, where: Reading, argument: ast.expr) -> Ancestors:
        """The ancestors of what a caller hands in."""

    def _from_outside(self, path: str) -> Ancestors:
        scope, root = self._function.scope, path.partition(".")[0].partition("[")[0]
        if root == "self":
            path = path.partition("[")[0]
            of_another = path.count(".") != 1  # what it keeps, only its name tells
            if wording.is_coefficient(path) and not self._is_computed(path):
                return NONE
            return (OLD if wording.keeps(path) else NONE) if of_another else self._of_attribute(path)
        if root in scope.parameters:
            return self._handed(root)
        if scope.parent is None or scope.owns(root):
            return NONE  # assigned on another way
        around = next((one for one in self._function.file.program.roots.functions if one.scope is scope.parent), None)
        if around is not None and (scope.parent.owns(root) or self._assigns(around, root)):
            return self._of_variable(around, root) | self._handed_to(around, root) if self._deep else OLD
        program = self._function.file.program
        return self._of_variable(Function(program.tree, program.roots.module), root)  # type: ignore[arg-type]

    def _is_computed(self, path: str) -> bool:
        """self.alpha = self.log_alpha.exp(): a coefficient that is learned."""
        return re.search(rf"{re.escape(path)} = [^\n]*({_LEARNED})\(", self._function.file.text) is not None

    def _assigns(self, function: Function, name: str) -> bool:
        return bool(self._deep) and bool(self._inside(function)._names.every(name))

    def _of_variable(self, function: Function, name: str) -> Ancestors:
        if not self._deep:
            return NONE
        inside = self._inside(function)
        made = NONE.union(*(inside._made(one) for one in inside._names.every(name)))
        # What it was handed itself it was most likely handed as settings and data.
        return OLD if KEPT in made or any(isinstance(one, ast.AST) for one in made) else made & {LEAF}

    def _handed_to(self, around: Function, name: str) -> Ancestors:
        """What the function around this one was handed, unless it is assigned anew or made a leaf there."""
        inside = self._inside(around)
        anew = any(one.node in around.node.body for one in inside._names.every(name) if not one.adds)
        if name not in around.scope.parameters or anew or name in leaves_of(inside._function):
            return NONE
        return OLD if Incoming._handed(inside, name) else NONE

    def _of_attribute(self, path: str) -> Ancestors:
        """What an object keeps: what was made with it has no graph, what a method assigns may have."""
        cls = self._function.scope.owner
        if cls is None:
            return OLD
        if not self._deep:
            return NONE if all(one.node.name == "__init__" for one in self._assigning(cls, path)) else OLD
        seen, found = False, NONE
        for one in cls.lineage():
            for method in one.functions.values():
                seen = seen or path in one.assigned
                found |= self._kept(method, path)
                if KEPT in found:
                    return OLD
        return OLD if not seen and wording.keeps(path) else found

    def _assigning(self, cls: Scope, path: str) -> list[Function]:
        return self._function.file.attributes(cls).get(path, [])

    def _kept(self, method: Function, path: str) -> Ancestors:
        """What a method assigns to this attribute: something with a graph, a leaf, or neither."""
        nodes = self._function.file.program.nodes(method.node).of(ast.Attribute)
        named = [node for node in nodes if node.attr == path[5:]]
        if not any(isinstance(node.ctx, ast.Store) and path_of(node) == path for node in named):
            return NONE
        inside = self if method.node is self._function.node else self._inside(method)
        made = NONE.union(*(inside._made(one) for one in inside._names.every(path)))
        # What an object was made with are settings; what it made of them itself may have a graph.
        graph = {one for one in made - {LEAF} if method.node.name != "__init__" or isinstance(one, ast.AST)}
        return OLD if graph else made & {LEAF}

    def _handed(self, name: str) -> Ancestors:
        """A parameter: what the callers in this file hand in; of none, only a name says what it is."""
        function = self._function.node
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        plain = wording.is_given(name) or wording.is_coefficient(name)
        told: Ancestors = NONE if plain else frozenset({name})
        default = default_of(function, name)
        if isinstance(default, ast.Constant) and default.value is not None:
            return NONE
        given = list(handed_in(self._function, name)) if self._deep else []
        if not given:
            return told
        known = (argument is not None and not self._handed_by(where, argument) for where, argument in given)
        return NONE if all(known) else frozenset({name})
