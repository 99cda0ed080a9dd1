"""Whose parameters: how a region that an optimizer holds lies to those that a graph goes through."""

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
        # Two things that were given can be one and the same; so can one that was given and one that was made.
        return Covers.MAYBE if any(other.given != region.given for other in others) else Covers.NO


def is_unknown(region: Obj) -> bool:
    """Whether nobody knows what a region consists of."""
    return region.kind in (ObjectKind.GIVEN, ObjectKind.OPTIMIZER)
