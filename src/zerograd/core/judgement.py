"""Where faults are judged: when a step consumes, because only then is a wrong gradient used.

Judging at the deposit or at the clear accuses correct GANs, adversarial probes and NaN skips. What led to the fault
is told by the trail: for each content, the events that brought the slot into it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import Facts
from zerograd.core.machine import Content, State, advance

Lacks = Callable[[State, Event], Kind | None]


class Law(Protocol):
    """What judging needs of a rule. Rules themselves live one layer up."""

    @property
    def lacks(self) -> Lacks: ...


L = TypeVar("L", bound=Law)


class Verdict(NamedTuple, Generic[L]):
    law: L
    event: Event
    state: State  # in which it was broken: one that makes it certain, if there is one
    certain: bool


def judge(facts: Facts, event: Event, laws: Iterable[L], *, weak: bool = False) -> Iterator[Verdict[L]]:
    """Each law that `event` breaks in some state the slot may be in; at most one verdict a law."""
    for law in laws:
        broken = [(fact, missing) for fact in facts if (missing := law.lacks(fact.state, event)) is not None]
        if broken:
            sure = [(fact, missing) for fact, missing in broken if not weak and missing not in fact.doubts]
            told = min((fact.state for fact, _ in sure or broken), key=_order)
            yield Verdict(law, event, told, bool(sure))


def _order(state: State) -> tuple[str, ...]:
    """Sets have no order; what is told must have one."""
    return (state.content.value, state.scale.value, *sorted(mark.value for mark in state.marks))


class Trail:
    """For each content, the events that brought a slot into it, and for each kind, the events of it: in a run the
    last one, in source every one."""

    def __init__(self, *, latest: bool) -> None:
        self._latest = latest
        self._entered: dict[Content | Kind, dict[Site | None, Event]] = {}

    def follow(self, state: State, event: Event) -> None:
        content = advance(state, event).content
        self._note(event.kind, event)
        # A consume that finds SPENT is the latest consume all the same: it is what a repeated step repeats.
        if content is not state.content or event.kind is Kind.CONSUME:
            self._note(content, event)

    def _note(self, key: Content | Kind, event: Event) -> None:
        events = self._entered.setdefault(key, {})
        if self._latest:
            events.clear()
        events.setdefault(event.site, event)

    def leading_to(self, keys: Iterable[Content | Kind]) -> tuple[Event, ...]:
        """The events that made each of these contents, or are of these kinds, in that order, and by line within one."""
        return tuple(
            event
            for key in keys
            for event in sorted(self._entered.get(key, {}).values(), key=lambda event: event.site or ("", 0))
        )

    def copy(self) -> "Trail":
        twin = Trail(latest=self._latest)
        twin._entered = {content: dict(events) for content, events in self._entered.items()}
        return twin
