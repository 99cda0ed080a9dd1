"""All slots and their facts: what a trace is replayed into."""

from collections.abc import Iterable
from typing import Generic

from zerograd.core.events import Event
from zerograd.core.facts import CLEAN, Facts, lift, lift_weak
from zerograd.core.judgement import L, Trail, Verdict, judge


class Ledger(Generic[L]):
    """One line per slot. `post` moves the slots an event hits and returns the laws it broke there."""

    def __init__(self, slots: Iterable[str] = (), *, laws: Iterable[L] = ()) -> None:
        self._laws = tuple(laws)
        self._facts: dict[str, Facts] = dict.fromkeys(slots, CLEAN)
        self._trails: dict[str, Trail] = {}

    def __getitem__(self, slot: str) -> Facts:
        return self._facts.get(slot, CLEAN)

    def trail(self, slot: str) -> Trail:
        return self._trails.setdefault(slot, Trail(latest=True))

    def post(self, event: Event) -> list[tuple[str, Verdict[L]]]:
        if event.slot is not None:
            return self._post(event.slot, event, weak=False)
        return [broken for slot in list(self._facts) for broken in self._post(slot, event, weak=True)]

    def _post(self, slot: str, event: Event, *, weak: bool) -> list[tuple[str, Verdict[L]]]:
        facts = self[slot]
        broken = [(slot, verdict) for verdict in judge(facts, event, self._laws, weak=weak)]
        for fact in facts:
            self.trail(slot).follow(fact.state, event)
        self._facts[slot] = lift_weak(facts, event) if weak else lift(facts, event)
        return broken
