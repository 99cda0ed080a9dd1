"""What a rule is: everything that anyone says about one fault, said once."""

from collections.abc import Callable, Iterator
from enum import Enum, Flag, auto
from typing import Any, Generic, NamedTuple, TypeVar

from zerograd.core.events import Event, Kind, Site
from zerograd.core.findings import Related, Severity
from zerograd.core.machine import Content, State


class Sees(Flag):
    """The front ends that must report a rule's `bad` and stay silent on its `good`."""

    SOURCE = auto()
    RUN = auto()
    FULL = auto()  # a run in full mode, which reads the losses

    def names(self) -> list[str]:
        return [front.name.lower() for front in Sees if front in self and front.name]


class Fix(Enum):
    NONE = "none"  # the cure is told, never applied
    SAFE = "safe"  # keeps what the program computes
    UNSAFE = "unsafe"  # changes what the program computes: that is its purpose


def idiom(state: State, event: Event) -> Kind | None:
    """What an idiom lacks cannot be told from one state and one event: a detector in each front end looks for it."""
    return None


class Broken(NamedTuple):
    """A place where a rule is broken, and what its sentence names. What is empty is the rule's own."""

    site: Site
    certain: bool
    names: dict[str, str]
    message: str = ""
    remedy: str = ""
    severity: Severity | None = None
    related: tuple[Related, ...] = ()


class Usual(dict[str, str]):
    """What a sentence calls things; what it has no word for keeps its role's name."""

    def __missing__(self, key: str) -> str:
        return key


USUAL = Usual(
    clearing="optimizer.zero_grad()",
    step="step()",
    deposit="backward()",
    clear="zero_grad()",
    size="N",
    loss="the loss",
    name="parameters",
    exit="the skip",
    made="its model",
    what="this",
    giver="the other parameter",
)  # for what a sentence names, where the program has not said


F = TypeVar("F", bound=tuple[object, ...])


class Question(NamedTuple, Generic[F]):
    """What a rule asks of a world: about which kind of fact, and where one of them breaks the rule."""

    about: type[F]
    breaks: Callable[[F], Iterator[Broken]]


class Rule(NamedTuple):
    """Always built by keyword. A named tuple and not a dataclass, because `check` would pay 7 ms for the import."""

    code: str
    name: str  # reads as English after "allow": "allow stale-accumulation"
    message: str  # one sentence; {step} {deposit} {clear} {consumer} ... name the events involved
    sees: Sees
    remedy: str  # what to type instead, in one line; {optimizer} {clearing} ... are the program's own names
    fix: Fix
    lacks: Callable[[State, Event], Kind | None]  # the kind of event whose absence here is the fault, or None
    led_by: tuple[Content | Kind, ...]  # the contents whose making, and the kinds of event, that are told beside it
    bad: str  # a whole program; the faulty line ends in "# error: [CODE]"
    good: str
    explanation: str  # the module's docstring
    severity: Severity = Severity.ERROR
    at: Kind | None = None  # report at the last event of this kind, not at the one that broke the rule
    ranks: int = 1  # processes that it takes to see the fault in a run
    refines: str = ""  # the code of a rule whose fault it tells more exactly, where it can: told in place of that one
    needs_loss: bool = False  # a fault only where something is learned: elsewhere a warm-up, or a schedule being drawn
    asks: Question[Any] | None = None  # what one state and one event cannot tell
    by_hand: str = ""  # the remedy where no optimizer steps, but a line of the program
    in_run: str = ""  # the sentence of a run, where it has other things to name than source
    beside: tuple[tuple[Kind, str], ...] = ()  # what the events that led there do, where the usual words say too little

    @property
    def general_remedy(self) -> str:
        """The remedy where no program is at hand: with the names that programs usually have."""
        return self.remedy.format_map(USUAL)

    def as_run(self) -> "Rule":
        """The rule as a run tells it."""
        return self._replace(message=self.in_run) if self.in_run else self
