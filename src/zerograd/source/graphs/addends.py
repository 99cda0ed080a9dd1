"""What a loss is the sum of, as far as it can be read, and which of that may have a graph."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.source.graphs.cut import Cut
from zerograd.source.graphs.makers import Has
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_SUMS = frozenset({"mean", "sum", "squeeze", "view", "to", "cuda", "reshape"})
_DEPTH = 8


class Term(NamedTuple):
    node: ast.expr
    names: tuple[str, ...]  # that it goes by, the last one first
    minus: bool = False


class Sum:
    """A loss and what it is the sum of. `names`: all that it goes by on the way; `live`: those that have a
    graph; `lives`: whether any term may have one, be it without a name."""

    def __init__(self, loss: ast.expr, function: Reading, cut: Cut) -> None:
        self.loss, self.names = loss, set[str]()
        self.terms = list(_terms(Term(loss, ()), function, cut, self.names))
        self.names |= {name for term in self.terms if (name := path_of(term.node)) is not None}
        living = [term for term in self.terms if cut.of(term.node) is Has.MAYBE]
        lost = {path_of(term.node) for term in self.terms} - {path_of(term.node) for term in living}
        self.live, self.lives = self.names - lost, bool(living)


def _terms(term: Term, function: Reading, cut: Cut, through: set[str]) -> Iterator[Term]:
    """What a loss is the sum of, as far as it can be read. `through`: the names that were followed."""
    node, names, minus = term
    if _is_switched_off(node):
        return
    if len(names) > _DEPTH or cut.of(node) is not Has.MAYBE:
        yield Term(_bare(node, cut), names, minus)
        return
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _terms(Term(left, names[:0], minus), function, cut, through)
            yield from _terms(Term(right, names[:0], minus ^ isinstance(op, ast.Sub)), function, cut, through)
        case ast.UnaryOp(operand=operand, op=ast.USub()):
            yield from _terms(Term(operand, names, not minus), function, cut, through)
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if cut.of(left) is not Has.MAYBE:
            yield from _terms(Term(right, names, minus), function, cut, through)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right) if cut.of(right) is not Has.MAYBE:
            yield from _terms(Term(left, names, minus), function, cut, through)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="mean" | "sum"), args=[inner, *_]):
            yield from _terms(Term(inner, names, minus), function, cut, through)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _SUMS and path_of(value) != "torch":
            yield from _terms(Term(value, names, minus), function, cut, through)
        case ast.Name() if (parts := _made_of(node, function)) is not None:
            through.add(node.id)
            known = (node.id, *names) if len(parts) == 1 else ()  # of several, each goes by a name of its own
            for part in parts:
                yield from _terms(Term(part, known, minus), function, cut, through)
        case _:
            yield term


def _is_switched_off(node: ast.expr) -> bool:
    """0 * penalty: there for its parameters to be known, or to be tried another day."""
    factors = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else ()
    return any(isinstance(one, ast.Constant) and one.value == 0 for one in factors)


def _bare(node: ast.expr, cut: Cut) -> ast.expr:
    """0.01 * entropy: the entropy."""
    match node:
        case ast.UnaryOp(operand=inner):
            return _bare(inner, cut)
        case ast.BinOp(left=factor, op=ast.Mult(), right=inner) if cut.of(factor) is Has.NOTHING:
            return _bare(inner, cut)
        case ast.BinOp(left=inner, op=ast.Mult() | ast.Div(), right=factor) if cut.of(factor) is Has.NOTHING:
            return _bare(inner, cut)
    return node


def _made_of(name: ast.Name, function: Reading) -> list[ast.expr] | None:
    """loss = a, and loss += b: what a name was made of, if it was in one way."""
    reached = definitions_of(function).reaching(name.id, name)
    if reached is None or not reached.certain or any(one.each or one.at is not None for one in reached.here):
        return None
    begun = [one for one in reached.here if not one.adds]
    added = [one for one in reached.here if one.adds]
    sums = all(isinstance(one.node, ast.AugAssign) and isinstance(one.node.op, ast.Add | ast.Sub) for one in added)
    return [one.value for one in (*begun, *added)] if len(begun) == 1 and sums else None


def words_of(term: Term) -> set[str]:
    return {*term.names, *(path for part in below(term.node) if (path := path_of(part)) is not None)}
