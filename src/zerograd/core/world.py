"""What a rule may ask when a state and an event cannot tell: one world, answered by a run and by source alike.

[Note: two bounds] Every answer about parameters has two bounds: what is surely among them, and what may be. A run knows
one set, and both bounds are that. Source knows less; a certain finding rests on `sure` alone.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

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


class By(Enum):
    """What keeps a graph alive."""

    SUM = "sum"  # it is added to what outlives the iteration
    RETAINED = "retained"  # a backward is told to keep it, and no other one comes
    RECORDED = "recorded"  # a backward is told to record the graph of the gradients, and nobody looks at it
    CARRIED = "carried"  # the next iteration goes on from it, though this one has gone backward through it


class Kept(NamedTuple):
    """A graph that outlives the iteration that made it, and that no backward goes through again."""

    site: Site
    what: str  # what keeps it, as the program writes it
    freed: bool  # a backward has freed what it had saved: only the graph itself is left
    certain: bool
    by: By = By.SUM


class Why(Enum):
    """Why something that looks as if it learned does not."""

    CUT = "cut"  # a term of a loss has lost its graph
    NEW_LEAF = "new leaf"  # what is handed back is a copy, where backward() stops
    NOT_RETURNED = "not returned"  # whoever goes backward is not given the loss
    NO_GRADIENT = "no gradient"  # the optimizer holds a tensor that takes none


class WhyNone(Enum):
    """Why there is no gradient."""

    NEVER = "never"  # no backward has reached it yet
    CLEARED = "cleared"  # it was cleared by None, and no backward has reached it since
    COMPUTED = "computed"  # it is no leaf: autograd keeps none there


class Missing(NamedTuple):
    """A `.grad` that is used where it is None."""

    site: Site
    what: str  # the gradient, as the program writes it
    why: WhyNone


class HowLost(Enum):
    """Why an update by hand changes no parameter."""

    LOOP_VARIABLE = "loop variable"  # it gives the variable of a loop another value
    NEW_TENSOR = "new tensor"  # it makes a tensor that is no leaf, under the name of the parameter
    DROPPED = "dropped"  # nobody keeps what it computes
    WATCHED = "watched"  # autograd is watching, and raises


class LostUpdate(NamedTuple):
    """An update by hand that changes no parameter."""

    site: Site
    how: HowLost
    text: str  # the update, as the program writes it
    name: str  # of what it was to change; of what is dropped, the operation
    what: str = "parameter"  # or "gradient"
    certain: bool = True


class Untaught(NamedTuple):
    """Something that looks as if it learned."""

    site: Site
    why: Why
    certain: bool = True


class Wasted(NamedTuple):
    """A backward whose gradients are cleared every time, before any step or anybody has looked."""

    site: Site  # the clear; or the backward, where the clear stands in another function
    clear: str
    deposit: Site
    certain: bool


class UnusedClip(NamedTuple):
    """A clip of gradients that no step uses."""

    site: Site
    what: str
    place: str  # what it clips, in words
    certain: bool
    fix: str = ""  # what to do instead, where it is not the place that is wrong


class UnclearedClosure(NamedTuple):
    """A step that evaluates a closure which adds to the gradients of the evaluation before."""

    site: Site
    step: str
    certain: bool


class Scaling(Enum):
    """What goes wrong between the steps of a scaler and its updates."""

    EARLY = "early"  # it is updated in every micro-batch, and its step waits for the group
    LATE = "late"  # it steps again before it was updated
    NEVER = "never"  # it steps and is never updated
    FORGOTTEN = "forgotten"  # a new scaler is made in every iteration


class Unsettled(NamedTuple):
    """A scaler whose steps and updates do not fit together."""

    site: Site
    why: Scaling
    scaler: str
    step: str
    certain: bool


class Exhausted(NamedTuple):
    """Parameters that are read from a generator of which nothing is left."""

    site: Site
    name: str
    consumer: str
    certain: bool
    read_at: Site | None = None  # where it was read to the end, if not here


class Shared(NamedTuple):
    """One gradient that two parameters hold, and that only one side lets go of."""

    site: Site
    what: str
    giver: str
    cleared: str
    certain: bool


class HeldTwice(NamedTuple):
    """Parameters that are stepped twice after one backward. `other`: the optimizer that holds them too."""

    site: Site
    what: str
    other: Site | None = None


class Neglect(Enum):
    """Why nobody steps parameters."""

    UNHELD = "unheld"  # no optimizer holds them
    NEVER_STEPPED = "never stepped"  # the one that does never steps
    LEFT_OUT = "left out"  # they were put into a group, and the group was given to nobody


class Unowned(NamedTuple):
    """Parameters that losses reach and that no step moves."""

    site: Site
    why: Neglect
    parameters: str  # whose they are, or the group that has them, as the program names it
    optimizer: str = ""  # the one that never steps
    beside: Site | None = None  # where the optimizer is made that does step; or what is deposited for one that does not
    certain: bool = True


class Orphaning(Enum):
    """How an optimizer comes to hold what is not trained."""

    REPLACED = "replaced"  # something else stands in the place of what it holds
    COPIED = "copied"  # it was copied together with its parameters
    BROUGHT = "brought"  # it comes out of a file, with its own
    EACH_TIME = "each time"  # layers are made anew whenever the network runs


class Orphaned(NamedTuple):
    """An optimizer and a network that have come apart."""

    site: Site
    how: Orphaning
    what: str  # what the program does there, as it writes it
    model: str
    optimizer: str
    made_at: Site | None
    certain: bool


class Clear(NamedTuple):
    """A clear that is of no use, or dearer than it must be."""

    site: Site
    what: str
    after: str = ""  # the clear that has emptied all of this already
    first: Site | None = None  # where that stands
    zeros: bool = False  # it writes zeros that nobody needs


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


F = TypeVar("F")


class World(Protocol):
    """Who holds what, what a loss reaches, what a clear empties; and all that a rule may ask about, kind by kind."""

    def held(self, optimizer: Thing, at: Event) -> Params:
        """What the optimizer steps."""
        ...

    def reached(self, deposit: Event) -> Params:
        """What a backward fills."""
        ...

    def cleared(self, clear: Event) -> Params:
        """What a clear empties."""
        ...

    def every(self, kind: type[F]) -> Iterable[F]:
        """All that is known of one kind: each `Window`, each graph that is `Kept`, each `Clear` of no use, ..."""
        ...
