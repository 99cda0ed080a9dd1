"""What a test asks: a tree over the identities of values, never over their text.

`self.args.amp`, `params.amp` and `use_amp = args.get("amp")` are one question if they are one value. A test can be
bound to a name, kept in a flag, handed into a function: it stays the same tree.
"""

from collections.abc import Hashable
from typing import NamedTuple


class Linear(NamedTuple):
    """base + offset; without a base, the constant `offset`."""

    base: int | None
    offset: int


class Remainder(NamedTuple):
    """(base + offset) % of"""

    base: int
    offset: int
    of: Linear


class Known(NamedTuple):
    answer: bool


class Asked(NamedTuple):
    """Any question that is remembered by what it asks of which values."""

    what: str
    of: tuple[Hashable, ...]  # identities, and constants as ("k", value)


class Counter(NamedTuple):
    """A name that a loop counts up: `key` is None for the loop's own counter."""

    loop: Hashable
    key: Hashable


class Place(NamedTuple):
    """Where a counter stands in a window of `of` iterations: FIRST, MIDDLE or LAST."""

    counter: Counter
    of: Linear
    shift: int = 0  # the windows begin where the counter is this, modulo `of`


class At(NamedTuple):
    """Whether the counter stands at this place of the window."""

    place: Place
    want: str


class First(NamedTuple):
    """Whether it is the first iteration."""

    counter: Counter
    at: int


class Last(NamedTuple):
    """Whether it is the last iteration."""

    loop: Hashable


class Synced(NamedTuple):
    """Whether an accelerator's window ends here."""

    thing: Hashable


class Not(NamedTuple):
    test: "Test"


class Both(NamedTuple):
    one: "Test"
    other: "Test"


Test = Known | Asked | At | First | Last | Synced | Not | Both
FIRST, MIDDLE, LAST = "first", "middle", "last"
YES, NO = Known(True), Known(False)


def places_of(of: Linear) -> tuple[str, ...]:
    """The places that a window of this length has."""
    return (FIRST, LAST) if of == Linear(None, 2) else (FIRST, MIDDLE, LAST)


def negate(test: Test) -> Test:
    if isinstance(test, Not):
        return test.test
    if isinstance(test, Known):
        return Known(not test.answer)
    return Not(test)


def is_always(test: Test) -> bool:
    return test == YES


def is_never(test: Test) -> bool:
    return test == NO


def both(one: Test, other: Test) -> Test:
    if one == YES or other == NO:
        return other
    if other == YES or one == NO:
        return one
    return Both(one, other)


def either(one: Test, other: Test) -> Test:
    return negate(both(negate(one), negate(other)))


def is_followed(test: Test) -> bool:
    """Whether every answer to it is followed from iteration to iteration, so that nothing is left to doubt."""
    if isinstance(test, Not):
        return is_followed(test.test)
    if isinstance(test, Both):
        return is_followed(test.one) and is_followed(test.other)
    return not isinstance(test, Asked)


def alternatives_of(test: Test) -> list[Test]:
    """The tests of which one at least is answered yes where the whole is."""
    if isinstance(test, Not) and isinstance(test.test, Both):
        return alternatives_of(negate(test.test.one)) + alternatives_of(negate(test.test.other))
    return [test]


def leaves(test: Test) -> list[Test]:
    """The questions that a test is made of."""
    if isinstance(test, Not):
        return leaves(test.test)
    if isinstance(test, Both):
        return leaves(test.one) + leaves(test.other)
    return [test]


def equated(test: Test) -> tuple[Hashable, Hashable] | None:
    """(value, constant) of a question whether they are equal."""
    if isinstance(test, Asked) and test.what == "==":
        one, other = test.of
        if isinstance(one, tuple) and not isinstance(other, tuple):
            return other, one
        if isinstance(other, tuple) and not isinstance(one, tuple):
            return one, other
    return None
