"""Where faults are judged: when a step consumes, because only then is a wrong gradient used.

Judging at the deposit or at the clear accuses correct GANs, adversarial probes and NaN skips. What led to the fault
is told by the trail: for each content, the events that brought the slot into it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import Facts
from zerograd.core.machine import Content, State, advance

Fires = Callable[[State, Event], bool]


class Law(Protocol):
    """What judging needs of a rule. Rules themselves live one layer up."""

    @property
    def fires(self) -> Fires: ...
    @property
    def cure(self) -> Kind: ...


L = TypeVar("L", bound=Law)


class Verdict(NamedTuple, Generic[L]):
    law: L
    event: Event
    certain: bool


def judge(facts: Facts, event: Event, laws: Iterable[L], *, weak: bool = False) -> Iterator[Verdict[L]]:
    """Each law that `event` breaks in some state the slot may be in; at most one verdict a law."""
    for law in laws:
        broken = [fact for fact in facts if law.fires(fact.state, event)]
        if broken:
            certain = not weak and any(law.cure not in fact.doubts for fact in broken)
            yield Verdict(law, event, certain)


class Trail:
    """For each content, the events that brought a slot into it: in a run the last one, in source every one."""

    def __init__(self, *, latest: bool) -> None:
        self._latest = latest
        self._entered: dict[Content, dict[Site | None, Event]] = {}

    def follow(self, state: State, event: Event) -> None:
        content = advance(state, event).content
        # A consume that finds SPENT is the latest consume all the same: it is what a repeated step repeats.
        if content is state.content and event.kind is not Kind.CONSUME:
            return
        events = self._entered.setdefault(content, {})
        if self._latest:
            events.clear()
        events.setdefault(event.site, event)

    def leading_to(self, contents: Iterable[Content]) -> tuple[Event, ...]:
        """The events that made each of `contents`, in that order, and by line within one."""
        return tuple(
            event
            for content in contents
            for event in sorted(self._entered.get(content, {}).values(), key=lambda event: event.site or ("", 0))
        )

    def copy(self) -> "Trail":
        twin = Trail(latest=self._latest)
        twin._entered = {content: dict(events) for content, events in self._entered.items()}
        return twin
