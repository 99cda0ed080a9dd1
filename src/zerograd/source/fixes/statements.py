"""The statements and expressions of a text, and where they stand."""

import ast
from collections.abc import Container, Iterable, Iterator
from typing import TypeVar

from zerograd.core.events import Site
from zerograd.source.acts import NO_ACTS, Acts
from zerograd.source.fixes.places import Places
from zerograd.source.text.nodes import held_by, holds, parents_of, place
from zerograd.source.text.parsing import tree_of

N = TypeVar("N", bound=ast.AST)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "orelse", "finalbody")
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)


class Statements:
    """Raises SyntaxError for a text that is not Python 3: nothing is changed in what can only be guessed at.

    `acts`: what the program does to gradients, and where.
    """

    def __init__(self, text: str, path: str, acts: Acts = NO_ACTS) -> None:
        self.text = text
        self.path = path
        self.acts = acts
        self.tree = tree_of(text, path)
        self.places = Places(text)
        self._parents = parents_of(self.tree)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is, or is part of."""
        return next(outer for outer in (node, *self.around(node)) if isinstance(outer, ast.stmt))

    def at(self, site: Site, kind: type[N]) -> N | None:
        """The node of a kind that a finding names by its place in this file."""
        if site.path != self.path:
            return None
        wanted = (site.line, site.column - 1), (site.end_line, site.end_column - 1)
        nodes = (node for node in self._parents if isinstance(node, kind))
        return next((node for node in nodes if place(node) == wanted), None)

    def is_at(self, node: ast.AST, sites: Container[Site]) -> bool:
        """Whether a node stands at one of these places."""
        (line, column), (end_line, end_column) = place(node)
        return Site(self.path, line, column + 1, end_line, end_column + 1) in sites

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements that one stands among, itself included."""
        outer = self._parents[statement]
        blocks: list[list[ast.stmt]] = [getattr(outer, name, []) for name in _BLOCKS]
        return next(block for block in blocks if statement in block)

    def function(self, node: ast.AST) -> ast.Module | FunctionNode:
        """The function that a node stands in, or the module."""
        return next((outer for outer in self.around(node) if isinstance(outer, _FUNCTIONS)), self.tree)

    def loops(self, node: ast.AST) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops around a node in its function, from the inside out."""
        found: list[ast.For | ast.AsyncFor | ast.While] = []
        for outer in self.around(node):
            if isinstance(outer, _SCOPES):
                break
            if isinstance(outer, LOOPS):
                found.append(outer)
        return found

    def inside(self, outer: ast.AST, kind: type[N]) -> list[N]:
        """The nodes of a kind below another, in text order, but for those of functions inside it."""
        found: list[N] = []
        pending = [outer]
        while pending:
            node = pending.pop()
            if isinstance(node, kind):
                found.append(node)
            if node is outer or not isinstance(node, _SCOPES):
                pending += held_by(node)
        return sorted(found, key=place)

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def start(self, node: ast.AST) -> int:
        return self.span(node)[0]

    def end(self, node: ast.AST) -> int:
        """The first character behind a node."""
        return self.span(node)[1] if node is not self.tree else len(self.text)

    def is_statement(self, node: ast.AST) -> bool:
        """Whether an expression is a statement of its own."""
        return isinstance(self._parents.get(node), ast.Expr)

    def with_its_test(self, statement: ast.stmt) -> ast.stmt:
        """A statement, or the `if` around it that holds nothing else."""
        outer = self._parents.get(statement)
        alone = isinstance(outer, ast.If) and outer.body == [statement] and not outer.orelse
        return self.with_its_test(outer) if alone and isinstance(outer, ast.If) else statement

    def in_block(self, block: list[ast.stmt], node: ast.AST) -> ast.stmt | None:
        """The statement of a block that holds a node."""
        return next((statement for statement in block if holds(statement, node)), None)

    def span(self, node: ast.AST) -> tuple[int, int]:
        (line, column), (end_line, end_column) = place(node)
        return self.places.offset(line, column + 1), self.places.offset(end_line, end_column + 1)


def calls(nodes: Iterable[ast.Call], *names: str) -> list[ast.Call]:
    """The calls of methods of these names."""
    return [call for call in nodes if isinstance(call.func, ast.Attribute) and call.func.attr in names]
