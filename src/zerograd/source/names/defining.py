"""The assignments of one function, each with the branches it stands in: which of them a use of a name sees."""

import ast
from bisect import bisect_left
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from zerograd.source.text.nodes import written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

Branches = tuple[tuple[int, bool], ...]  # an `if`, and which of its arms
_LAST = itemgetter(1)  # line of a statement
_NO_GRAD = pattern(r"no_grad|inference_mode|set_grad_enabled")


class Definition(NamedTuple):
    line: int
    value: ast.expr
    branches: Branches
    cut: bool  # under no_grad
    adds: bool = False  # loss += ..., losses.append(...): what was there before is still in it
    position: int | None = None  # of what the value gives: a, b = f(x)


class Place(NamedTuple):
    """Where a name is used."""

    line: int
    branches: Branches

    def splits_at(self, made: Definition) -> tuple[int, bool] | None:
        """The first branch that leads to an assignment, and that this place is in no arm of."""
        return next((one for one in made.branches if one not in self.branches), None)

    def excludes(self, made: Definition) -> bool:
        return any((test, not arm) in self.branches for test, arm in made.branches)


class Definitions:
    def __init__(self, function: ast.AST) -> None:
        self._made: dict[str, list[Definition]] = {}
        self._statements: list[tuple[int, int, Branches, bool]] = []  # by their lines, in text order
        self.returned: list[ast.Return] = []
        self._read(getattr(function, "body", []), (), cut=False)

    def at(self, line: int) -> tuple[Place, bool] | None:
        """Where a line stands, and whether it is cut from every graph."""
        number = bisect_left(self._statements, line, key=_LAST)
        if number == len(self._statements):
            return None
        first, _, branches, cut = self._statements[number]
        return (Place(line, branches), cut) if first <= line else None

    def of(self, path: str) -> list[Definition]:
        return self._made.get(path, [])

    def before(self, path: str, place: Place) -> list[Definition]:
        """The assignments that a use of `path` may see, in text order."""
        return [made for made in self._made.get(path, ()) if made.line < place.line and not place.excludes(made)]

    def _read(self, statements: Iterable[ast.stmt], branches: Branches, *, cut: bool) -> None:
        for node in statements:
            match node:
                case ast.If(body=body, orelse=orelse):
                    self._read(body, (*branches, (id(node), True)), cut=cut)
                    self._read(orelse, (*branches, (id(node), False)), cut=cut)
                case ast.With(items=items, body=body):
                    quiet = any(_NO_GRAD.search(written(item.context_expr)) for item in items)
                    self._read(body, branches, cut=cut or quiet)
                case ast.For(target=target, iter=over, body=body, orelse=orelse):
                    self._each(target, over, node.lineno, branches, cut)
                    self._read((*body, *orelse), branches, cut=cut)
                case ast.While(body=body, orelse=orelse):
                    self._read((*body, *orelse), branches, cut=cut)
                case ast.Try(body=body, orelse=orelse, finalbody=final):
                    self._read((*body, *orelse, *final), branches, cut=cut)
                case _:
                    self._statements.append((node.lineno, node.end_lineno or node.lineno, branches, cut))
                    self._define(node, branches, cut)

    def _define(self, node: ast.stmt, branches: Branches, cut: bool) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value, node.lineno, branches, cut)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._note(target, Definition(node.lineno, value, branches, cut))
            case ast.AugAssign(target=target, value=value):
                self._note(target, Definition(node.lineno, value, branches, cut, adds=True))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=several, attr="append"), args=[value])):
                self._note(several, Definition(node.lineno, value, branches, cut, adds=True))
            case ast.Return():
                self.returned.append(node)

    def _assign(self, target: ast.expr, value: ast.expr, line: int, branches: Branches, cut: bool) -> None:
        if not isinstance(target, ast.Tuple | ast.List):
            self._note(target, Definition(line, value, branches, cut))
            return
        elements = target.elts
        parallel = isinstance(value, ast.Tuple) and len(value.elts) == len(elements) > 1
        starred = any(isinstance(one, ast.Starred) for one in elements)
        for number, element in enumerate(elements):
            its = value.elts[number] if parallel and isinstance(value, ast.Tuple) else value
            position = None if parallel or starred else number
            self._note(element, Definition(line, its, branches, cut, position=position))

    def _each(self, target: ast.expr, over: ast.expr, line: int, branches: Branches, cut: bool) -> None:
        """for logit in D(fake): what is run over is what each is made of."""
        match over, target:
            case ast.Call(func=ast.Name("enumerate"), args=[inner, *_]), ast.Tuple(elts=[_, element]):
                self._each(element, inner, line, branches, cut)
            case ast.Call(func=ast.Name("zip"), args=several), ast.Tuple(elts=elements) if len(several) == len(
                elements
            ):
                for element, inner in zip(elements, several, strict=True):
                    self._each(element, inner, line, branches, cut)
            case _, ast.Tuple(elts=elements):
                for element in elements:
                    self._each(element, over, line, branches, cut)
            case _:
                self._note(target, Definition(line, over, branches, cut))

    def _note(self, target: ast.expr, made: Definition) -> None:
        path = path_of(target)
        if path:
            self._made.setdefault(path, []).append(made)
