"""What a rule may ask when a state and an event cannot tell: one world, answered by a run and by source alike.

[Note: two bounds] Every answer about parameters has two bounds: what is surely among them, and what may be. A run knows
one set, and both bounds are that. Source knows less; a certain finding rests on `sure` alone.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Protocol

from zerograd.core.events import Event, Site

Thing = int  # an object of the program: opaque here, told apart by its number


class Region(NamedTuple):
    """The parameters of a module, or those of a part of it."""

    owner: Thing
    path: tuple[str, ...] = ()


class Params(NamedTuple):
    """A set of parameters, from below and from above."""

    sure: frozenset[Region] = frozenset()
    may: frozenset[Region] = frozenset()


class Kept(NamedTuple):
    """Something that an iteration leaves behind."""

    thing: Thing
    site: Site


class Loss(NamedTuple):
    """What a backward of a window was called on. None: nobody knows."""

    deposit: Event
    is_mean: bool | None = None  # over the items of its micro-batch
    is_divided: bool | None = None  # by the number of micro-batches, by whoever
    is_synced: bool = False  # it is averaged over the ranks, whenever it goes backward
    divided_again: str = ""  # what the framework divides by although the program has: the number, as it names it


class Unsynced(NamedTuple):
    """A forward pass whose gradients are not averaged over the ranks, in the micro-batch that steps."""

    site: Site
    text: str  # what decides so, as the program writes it
    is_past: bool  # the pass goes past the wrapper that averages
    certain: bool


class Test(NamedTuple):
    """Where the program decides that a window ends."""

    site: Site
    text: str


class Fit(Enum):
    """How a group lies to the window that the program has in mind."""

    WHOLE = "whole"
    SHIFTED = "shifted"  # the first group has another length than the others
    INVERTED = "inverted"  # the step is taken at every micro-batch but one
    LONGER = "longer"  # every group has another length than the number that divides its losses
    UNKNOWN = "unknown"


class Window(NamedTuple):
    """How one step is fed: the micro-batches since the step before it."""

    step: Event
    losses: tuple[Loss, ...] = ()
    size: str = ""  # the number of micro-batches that it waits for, as the program names it; empty: it does not wait
    tests: tuple[Test, ...] = ()
    fit: Fit = Fit.UNKNOWN
    drops_tail: bool | None = None  # what is left when the data end is never stepped on
    unsynced: tuple[Unsynced, ...] = ()
    meant: str = ""  # where it does not wait: what tells that it was to
    certain: bool = True  # that it waits so, or does not


class World(Protocol):
    """Who holds what, what a loss reaches, what outlives an iteration, what one step's window contained."""

    def held(self, optimizer: Thing, at: Event) -> Params:
        """What the optimizer steps."""
        ...

    def reached(self, deposit: Event) -> Params:
        """What a backward fills."""
        ...

    def cleared(self, clear: Event) -> Params:
        """What a clear empties."""
        ...

    def outlives(self, loop: Thing) -> Iterable[Kept]:
        """What an iteration of the loop leaves behind."""
        ...

    def windows(self) -> Iterable[Window]:
        """How each step is fed."""
        ...
