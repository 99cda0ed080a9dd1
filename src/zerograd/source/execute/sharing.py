"""Gradients that two parameters share: `theirs.grad = mine.grad` copies nothing.

[Note: sharing] Whoever hands its gradient over so is a slot of its own, as who updates by hand is: handing it over
consumes it. Clearing the other side by None leaves it where it is; filling that with zeros empties both, which are one.
An optimizer of which nothing else is known, and which steps next, holds those that the gradient is handed to, and not
who hands it over: else nobody would.
"""

import ast
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.machine import Content
from zerograd.source.execute import gradients, updates
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.regions import Covers
from zerograd.source.heap.values import NO_OBJECTS, Regions, Value


class Shared(NamedTuple):
    """A gradient that is handed over again with all that was handed over before."""

    site: Site
    what: str
    giver: str
    taker: Obj
    certain: bool


def handed_over(ex: Execution, takers: Regions, value: Value, node: ast.AST) -> None:
    """theirs.grad = mine.grad"""
    for gradient in sorted(one for one in value.objects if one.kind is ObjectKind.GRADIENT):
        surely = len(value.objects) == 1 and value.exact and value.id == ex.identities.of("object", gradient)
        for giver in sorted(gradient.regions):
            for taker in sorted(takers):
                if taker is not giver and ex.overlap.of(giver, {taker}) is not Covers.YES:
                    ex.tables.add(ex.tables.shared.setdefault(giver, set()), taker)
                    ex.handed_over = True
                    _consume(ex, giver, taker, node, surely=surely and not gradients.is_partial(ex))


def _consume(ex: Execution, giver: Obj, taker: Obj, node: ast.AST, *, surely: bool) -> None:
    slot = updates.slot_of(ex, giver, Shape.SHARING)
    stale = [fact for fact in ex.here.facts[slot] if fact.state.content is Content.MIXED]
    if stale:
        certain = surely and any(not fact.doubts & {Kind.CLEAR, Kind.DEPOSIT} for fact in stale)
        site, what = ex.site(node), ast.unparse(node)
        known = ex.shared.get(site)
        if known is None or (certain and not known.certain):
            ex.shared[site] = Shared(site, what, _name(node), taker, certain)
    gradients.emit(ex, slot, Kind.CONSUME, node, weak=not surely, judged=False, by_hand=True)


def stepped(ex: Execution, optimizer: Obj) -> None:
    """Who steps next holds what was handed over."""
    if ex.handed_over and not optimizer.held:
        ex.tables.add(ex.tables.handed_to, optimizer)
    ex.handed_over = False


def _name(node: ast.AST) -> str:
    """Whose gradient is handed over, as the program writes it."""
    value = node.value if isinstance(node, ast.Assign) else None
    while isinstance(value, ast.Attribute) and isinstance(value.value, ast.Attribute):
        value = value.value
    return ast.unparse(value.value) if isinstance(value, ast.Attribute) else "the other"


def emptied_too(ex: Execution, regions: Regions) -> Regions:
    """Those who share their gradient with one of these: where that is filled with zeros, so is theirs."""
    return (
        frozenset(
            giver
            for giver, takers in ex.tables.shared.items()
            if any(ex.overlap.of(taker, regions) is not Covers.NO for taker in takers)
        )
        or NO_OBJECTS
    )
