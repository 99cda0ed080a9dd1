"""Where faults are judged: when a step consumes, because only then is a wrong gradient used.

Judging at the deposit or at the clear accuses correct GANs, adversarial probes and NaN skips. What led to the fault
is told by the trail: for each content, the events that brought the slot into it.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
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


class Code(Generic[L]):
    """Several laws at once. Few states are ever met: which laws an event breaks in one is worked out once.

    A law may ask for an event's kind, its scale and whether it comes midway, and for nothing else of it.
    """

    def __init__(self, laws: Iterable[L]) -> None:
        self.laws = tuple(laws)
        self._broken: dict[tuple[State, Kind, bool, bool], tuple[tuple[L, Kind], ...]] = {}

    def broken(self, state: State, event: Event) -> tuple[tuple[L, Kind], ...]:
        """The laws that `event` breaks in `state`, and what each lacks."""
        key = (state, event.kind, event.scaled, event.midway)
        known = self._broken.get(key)
        if known is None:
            lacking = ((law, law.lacks(state, event)) for law in self.laws)
            known = self._broken[key] = tuple((law, missing) for law, missing in lacking if missing is not None)
        return known


def judge(facts: Facts, event: Event, laws: Code[L] | Iterable[L], *, weak: bool = False) -> Iterator[Verdict[L]]:
    """Each law that `event` breaks in some state the slot may be in; at most one verdict a law."""
    code = laws if isinstance(laws, Code) else Code(laws)
    broken: dict[L, list[tuple[State, bool]]] = {}
    for state, doubts, _ in facts:
        for law, missing in code.broken(state, event):
            broken.setdefault(law, []).append((state, not weak and missing not in doubts))
    for law in code.laws if broken else ():  # facts have no order, findings must have one
        states = broken.get(law)
        if states is None:
            continue
        certain = any(sure for _, sure in states)
        told = min((state for state, sure in states if sure is certain), key=_order)
        yield Verdict(law, event, told, certain)


def _order(state: State) -> tuple[str, ...]:
    """Sets have no order; what is told must have one."""
    return (state.content.value, state.scale.value, *sorted(mark.value for mark in state.marks))


class Trail:
    """For each content, the events that brought a slot into it, and for each kind, the events of it: in a run the
    last one, in source every one."""

    def __init__(self, *, latest: bool) -> None:
        self._latest = latest
        self._entered: dict[Content | Kind, dict[Site | None, Event]] = {}
        self._lines: dict[Content | Kind, tuple[Event, ...]] = {}  # the same by line, as far as somebody has asked

    def follow(self, state: State, event: Event) -> None:
        self.passed(state.content, advance(state, event).content, event)

    def passed(self, before: Content, after: Content, event: Event) -> None:
        """`event` has brought the slot from one content to another, or left it in the same."""
        self._note(event.kind, event)
        # A consume that finds SPENT is the latest consume all the same: it is what a repeated step repeats.
        if after is not before or event.kind is Kind.CONSUME:
            self._note(after, event)

    def _note(self, key: Content | Kind, event: Event) -> None:
        self._lines.pop(key, None)
        if self._latest:
            self._entered[key] = {event.site: event}
        else:
            self._entered.setdefault(key, {}).setdefault(event.site, event)

    def leading_to(self, keys: Iterable[Content | Kind]) -> tuple[Event, ...]:
        """The events that made each of these contents, or are of these kinds, in that order, and by line within one."""
        return tuple(chain.from_iterable(map(self._ordered, keys)))

    def _ordered(self, key: Content | Kind) -> tuple[Event, ...]:
        """By line. What led to one fault led to many: it is put in order once for all of them."""
        if key not in self._lines:
            events = self._entered.get(key, {}).values()
            self._lines[key] = tuple(sorted(events, key=lambda event: event.site or ("", 0)))
        return self._lines[key]

    def copy(self) -> "Trail":
        twin = Trail(latest=self._latest)
        twin._entered = {content: dict(events) for content, events in self._entered.items()}
        return twin
