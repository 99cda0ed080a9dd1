"""What the Cursors of this process have handed out since the last block ended, and what of it a block has used.

[Note: known items] A save inside a block has to know which data is still to come. Counting micro-batches does not tell:
a block may go over parts of one batch, over pairs, over a group in another order, or leave some out. So each
micro-batch is looked for among the items that were handed out: it is known if it is that very object, or holds what
that is made of. groups() puts its own items in the place of the batches that it took for them. Where a micro-batch is
not known, or known out of order, a save inside the block is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import ref

UNKNOWN = -1  # the place of a micro-batch that is no item
_MOST = 4096  # batches that are remembered: an evaluation may go over any number of them without a block
_DEPTH, _WIDTH = 4, 256  # how far, and for how many objects, a micro-batch is looked into


class Item(NamedTuple):
    """Weakly: what was used may be freed before the block ends."""

    made_of: tuple["ref[Any]", ...]
    until: int  # so many batches had been handed out when it was complete

    def is_in(self, held: set[int]) -> bool:
        things = [one() for one in self.made_of]
        return bool(things) and all(thing is not None and id(thing) in held for thing in things)


class Supply:
    """See [Note: known items]."""

    def __init__(self) -> None:
        self.owners: list[ref[object] | None] = []  # the Cursor of each batch; None if it has been given up
        self.items: list[Item] = []
        self.overflowed = False

    def clear(self) -> None:
        """A block has ended: what was handed out until now is used, or given up."""
        self.owners, self.items, self.overflowed = [], [], False

    def hand_out(self, owner: object, batch: object) -> None:
        if len(self.owners) >= _MOST:
            self.overflowed = True
            return
        self.owners.append(ref(owner))
        self.items.append(Item(_made_of(batch), len(self.owners)))

    def give_up(self, owner: object) -> None:
        """Its epoch is begun anew before it came to its end."""
        this = ref(owner)
        self.owners = [None if one is this else one for one in self.owners]

    def regroup(self, first: int, items: Sequence[object], until: Sequence[int]) -> None:
        """The items from `first` on were put together to these."""
        made = [Item(_made_of(item), end) for item, end in zip(items, until, strict=True)]
        self.items = [*self.items[:first], *made]

    def place_of(self, thing: object, before: Sequence[int]) -> int:
        """Of the item that a micro-batch is, behind those `before` it in its block."""
        if not self.items or (before and before[-1] == UNKNOWN):
            return UNKNOWN
        held = {id(part) for part in _parts(thing)}
        for place in range(before[-1] + 1 if before else 0, len(self.items)):
            if self.items[place].is_in(held):
                return place
        return UNKNOWN

    def still_to_come(self, owner: object, used: Sequence[int]) -> int | None:
        """The batches of `owner` behind the items that a block has `used`; None if nobody can tell."""
        if self.overflowed or UNKNOWN in used:
            return None
        this, ends = ref(owner), [item.until for item in self.items]
        begins = [0, *ends]
        own = [place for place, end in enumerate(ends) if this in self.owners[begins[place] : end]]
        mine = [place for place in used if place in own]
        if mine != own[: len(mine)]:
            return None  # some were left out, or used out of order
        end = ends[mine[-1]] if mine else 0
        parts = [place for place in range(mine[-1] + 1, len(ends)) if ends[place] == end] if mine else []
        if not set(parts) <= set(used):
            return None  # other items were made of the same batch
        return self.owners[end:].count(this)


supply = Supply()


def _made_of(batch: object) -> tuple["ref[Any]", ...]:
    return tuple(one for one in map(_weakly, _ends(batch, _DEPTH)) if one is not None)


def _weakly(thing: object) -> "ref[Any] | None":
    try:
        return ref(thing)
    except TypeError:  # numbers, texts
        return None


def _ends(thing: object, depth: int) -> Iterator[object]:
    """The first and the last object of each list in it: a part of a batch does not have both."""
    columns = _columns(thing) if depth else None
    if columns is None:
        yield thing
        return
    for column in columns if len(columns) < 3 else (columns[0], columns[-1]):
        yield from _ends(column, depth - 1)


def _parts(thing: object) -> list[object]:
    """All that it is made of, as far as we look."""
    level, found = [thing], [thing]
    for _ in range(_DEPTH + 1):  # a pair of batches lies one deeper than a batch
        level = [part for one in level for part in _columns(one) or ()][:_WIDTH]
        found += level
    return found


def _columns(thing: object) -> Sequence[object] | None:
    if isinstance(thing, list | tuple):
        return thing
    return list(thing.values()) if isinstance(thing, Mapping) else None
