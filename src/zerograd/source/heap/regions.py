"""Whose parameters: how a region that an optimizer holds lies to those that a graph goes through."""

import ast
from collections.abc import Iterable
from enum import Enum

from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.values import Regions


class Covers(Enum):
    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


def reach(region: Obj) -> set[Obj]:
    """A module and all its parts."""
    found, todo = {region}, [region]
    while todo:
        for child in todo.pop().children:
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


class Overlap:
    """How regions lie to each other. `tied`: somebody was handed both, and may have made them one."""

    def __init__(self) -> None:
        self.tied: set[Obj] = set()

    def of(self, region: Obj, others: Regions | Iterable[Obj]) -> Covers:
        """Whether one of the others shares parameters with the region."""
        if region.kind is ObjectKind.STAGE:
            return Covers.NO
        given = frozenset(others)
        found = self._plain(region, given)
        if found is Covers.NO and region in self.tied and not self.tied.isdisjoint(given):
            return Covers.MAYBE
        return found

    def _plain(self, region: Obj, others: frozenset[Obj]) -> Covers:
        if region in others:
            return Covers.YES
        mine = reach(region)
        if any(other in mine or region in reach(other) for other in others if other.kind is not ObjectKind.ANYTHING):
            return Covers.YES
        if any(other.kind is ObjectKind.ANYTHING for other in others):
            return Covers.MAYBE
        known = [other for other in others if not is_unknown(other)]
        if is_unknown(region) or len(known) < len(others):
            return Covers.MAYBE if others else Covers.NO
        if any(may_be_one(region, other) for other in others):
            return Covers.MAYBE
        # One that was given and one that was made can be one and the same, unless it was made behind that.
        apart = [other for other in others if other.given != region.given]
        return Covers.MAYBE if any(not _is_made_later(region, other) for other in apart) else Covers.NO


def _is_made_later(one: Obj, other: Obj) -> bool:
    """Whether one of two was there when a function was called, and the function has made the other itself."""
    given, made = (one, other) if one.given else (other, one)
    while given.source is not None:
        given = given.source
    context = made.context
    by_itself = isinstance(context, tuple) and bool(context) and not isinstance(context[0], ast.ClassDef)
    return by_itself and given.key[:2] == ("given", "parameter")  # not a name: of an object


def may_be_one(one: Obj, other: Obj) -> bool:
    """Whether two elements of one thing may be the same: one of them stands for any, or nobody knows its place."""
    same = one.source is not None and one.source is other.source and one.given and other.given
    return same and not (one.name and other.name)


def is_unknown(region: Obj) -> bool:
    """Whether nobody knows what a region consists of."""
    return region.kind in (ObjectKind.GIVEN, ObjectKind.OPTIMIZER)
