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
    found = {region}
    todo = [region] if region.children else []  # most have no parts that anybody has seen
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
        mine, share = reach(region), False
        for other in others:
            if other.kind is ObjectKind.ANYTHING:
                share = True
            elif other in mine:
                return Covers.YES
            elif other.children:
                theirs = reach(other)
                if region in theirs:
                    return Covers.YES
                share = share or not mine.isdisjoint(theirs)  # they have a part in common
        if share or any(_may_share(region, other) for other in others):
            return Covers.MAYBE
        return Covers.NO


def _may_share(one: Obj, other: Obj) -> bool:
    """Whether two regions may have parameters in common, for all one sees.

    Two things that were given can be one and the same; so can one that was given and one that was made.
    """
    if _has_taken(one, other) or _has_taken(other, one) or may_be_one(one, other):
        return True
    if ObjectKind.LEAF in (one.kind, other.kind) and one.given != other.given:
        # A tensor that is made here is in no network that was there; but who was handed it may have it stepped.
        shown = any(leaf.kind is ObjectKind.LEAF and leaf.shown for leaf in (one, other))
        return shown and ObjectKind.OPTIMIZER in (one.kind, other.kind)
    if _is_apart(one, other) or _is_apart(other, one):
        return False
    if ObjectKind.LEAF in (one.kind, other.kind) and ObjectKind.MODULE in (one.kind, other.kind):
        return False  # a tensor of the program's is in no network unless somebody puts it there
    return is_unknown(one) or is_unknown(other) or one.given != other.given


def _has_taken(made: Obj, other: Obj) -> bool:
    """Whether something given was put into a module, or what it was read from."""
    taken = [part.taken for part in reach(made) if part.taken]
    whole: Obj | None = other if taken else None
    while whole is not None and not any(whole in some for some in taken):
        whole = whole.source
    return whole is not None


def _is_apart(made: Obj, other: Obj) -> bool:
    """Whether what was made here cannot be in the other: nobody has handed it there, or the other was there before."""
    if not is_fresh(made) or ObjectKind.OPTIMIZER in (made.kind, other.kind):
        return False
    if made.given:  # who made it cannot be read: it may have taken whatever it could get hold of
        return not made.shown and is_fresh(other) and not other.shown
    if any(one.shown for one in reach(made)):
        return False
    whole = other
    while (above := above_of(whole)) is not None:
        whole = above
    return is_fresh(other) or is_result(other) or (whole.given and whole.number < made.number)


def above_of(obj: Obj) -> Obj | None:
    """What something was read from, or the network that it is known as a part of."""
    if obj.source is None and obj.key[:1] == ("part",) and isinstance(obj.key[1], Obj):  # not a name: of an object
        return obj.key[1]
    return obj.source


def is_fresh(obj: Obj) -> bool:
    """Whether an object was made in sight: by a class, or by what is known to make one."""
    return obj.constructed or not obj.given


def is_result(obj: Obj) -> bool:
    """Whether something was handed out by a call that nobody can read."""
    return isinstance(obj.key, tuple) and obj.key[:2] == ("given", "result")  # not a name: of an object


def is_imported(obj: Obj) -> bool:
    """Whether it is a name that the file binds nowhere: a star import brings it."""
    return isinstance(obj.key, tuple) and obj.key[:2] == ("given", "name")  # not a name: of an object


def may_be_one(one: Obj, other: Obj) -> bool:
    """Whether two elements of one thing may be the same: one of them stands for any, or nobody knows its place."""
    same = one.source is not None and one.source is other.source and one.given and other.given
    return same and not (one.name and other.name)


def is_unknown(region: Obj) -> bool:
    """Whether nobody knows what a region consists of."""
    return region.kind in (ObjectKind.GIVEN, ObjectKind.OPTIMIZER)
