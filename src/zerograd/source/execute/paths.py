"""One point of the abstract run: the facts of every slot, and what waits for a step."""

from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.core.facts import CLEAN, NOWHERE, Facts, join
from zerograd.source.heap.conditions import Counter
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.store import Changes
from zerograd.source.heap.values import NO_SLOPES, Slope

Slot = tuple[Obj | None, Obj | None]  # (an optimizer, a region that it holds)
# A slot of its own that nothing hits: whether and how one gets here.
PATH: Slot = (None, None)


class Pending(NamedTuple):
    """A backward that waits for this optimizer to step."""

    site: Site
    optimizer: Obj


class Clip(NamedTuple):
    """A clip that waits for a step. See [Note: clips]."""

    site: Site
    regions: frozenset[Obj]
    waiting: frozenset[Obj]  # the optimizers whose gradients waited for a step when it was made


class Retained(NamedTuple):
    """A graph that a backward was told to keep. See [Note: through]."""

    site: Site
    through: frozenset[int]
    loss: int  # the identity of what went backward


class Path:
    __slots__ = (
        "brought",
        "clips",
        "facts",
        "frozen",
        "homeless",
        "looked_at",
        "passed",
        "pending",
        "retained",
        "severed",
        "since",
        "slopes",
        "stepped",
        "wrapped",
    )

    def __init__(
        self,
        facts: dict[Slot, Facts],
        pending: frozenset[Pending] = frozenset(),
        stepped: bool = False,
        since: frozenset[Slot] = frozenset(),
        homeless: frozenset[Pending] = frozenset(),
        frozen: frozenset[Obj] = frozenset(),
        severed: frozenset[Site] = frozenset(),
        looked_at: frozenset[Site] = frozenset(),
        brought: frozenset[Counter] = frozenset(),
        wrapped: frozenset[Obj] = frozenset(),
        clips: frozenset[Clip] = frozenset(),
        slopes: frozenset[Slope] = NO_SLOPES,
        passed: frozenset[int] = frozenset(),
        retained: frozenset[Retained] = frozenset(),
    ) -> None:
        self.facts = facts
        self.pending = pending
        self.stepped = stepped  # since the last backward, some optimizer has stepped
        self.since = since  # deposited into in this iteration
        self.homeless = homeless  # backwards through what no optimizer in sight holds, for whom that is an excuse
        self.frozen = frozen  # regions that take no gradient
        self.looked_at = looked_at  # backwards whose gradients somebody may have read
        self.wrapped = wrapped  # modules that a wrapper averages over the ranks
        self.brought = brought  # counters that were brought to their value now, in this iteration
        self.clips = clips
        self.passed = passed  # where the graphs began that a backward has gone through, on every path
        self.retained = retained  # the graphs that were kept, on some path
        self.slopes = slopes  # gradients that were read, and are still what lies there
        self.severed = severed  # backwards of something that has lost its graph, since the last step

    @classmethod
    def start(cls, slots: list[Slot]) -> "Path":
        return cls({PATH: CLEAN, **dict.fromkeys(slots, CLEAN)})

    def copy(self) -> "Path":
        return self.with_facts(dict(self.facts))

    def with_facts(self, facts: dict[Slot, Facts]) -> "Path":
        return Path(
            facts,
            self.pending,
            self.stepped,
            self.since,
            self.homeless,
            self.frozen,
            self.severed,
            self.looked_at,
            self.brought,
            self.wrapped,
            self.clips,
            self.slopes,
            self.passed,
            self.retained,
        )

    @property
    def is_dead(self) -> bool:
        return not self.facts[PATH]

    def same_as(self, other: "Path") -> bool:
        return (
            self.facts == other.facts
            and self.pending == other.pending
            and self.frozen == other.frozen
            and self.clips == other.clips
            and self.slopes == other.slopes
            and self.retained == other.retained
        )


class State(NamedTuple):
    """A point of the run, as what has changed since a level of the store was opened."""

    changes: Changes
    path: Path


def meet(one: Path, other: Path) -> Path:
    """Where two paths meet."""
    facts: dict[Slot, Facts] = {}
    known: dict[tuple[int, int], Facts] = {}  # slots that nothing has hit have the very same facts
    for slot, mine in one.facts.items():
        theirs = other.facts.get(slot, NOWHERE)
        if mine is theirs:
            facts[slot] = mine
            continue
        pair = (id(mine), id(theirs))
        met = known.get(pair)
        if met is None:
            met = known[pair] = join(mine, theirs)
        facts[slot] = met
    for slot, theirs in other.facts.items():
        if slot not in facts:
            facts[slot] = theirs
    return Path(
        facts,
        one.pending | other.pending,
        one.stepped or other.stepped,
        one.since | other.since,
        one.homeless | other.homeless,
        one.frozen & other.frozen,
        one.severed | other.severed,
        one.looked_at | other.looked_at,
        one.brought | other.brought,
        one.wrapped & other.wrapped,
        one.clips | other.clips,
        one.slopes & other.slopes,
        one.passed & other.passed,
        one.retained | other.retained,
    )
