"""What a rule may ask when a state and an event cannot tell: one world, answered by a run and by source alike.

[Note: two bounds] Every answer about parameters has two bounds: what is surely among them, and what may be. A run knows
one set, and both bounds are that. Source knows less; a certain finding rests on `sure` alone.
"""

from collections.abc import Iterable
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


class Window(NamedTuple):
    """What happened for one step: the events since the step before it."""

    deposits: tuple[Event, ...] = ()
    clears: tuple[Event, ...] = ()
    clips: tuple[Event, ...] = ()
    unscales: tuple[Event, ...] = ()
    schedules: tuple[Event, ...] = ()


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

    def window(self, step: Event) -> Window:
        """What happened for this step."""
        ...
