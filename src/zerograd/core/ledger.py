"""All slots and their facts: what a trace is replayed into."""

from collections.abc import Iterable, Iterator
from typing import Generic

from zerograd.core.events import Event
from zerograd.core.facts import CLEAN, Facts, lift, lift_weak
from zerograd.core.judgement import L, Trail, Verdict, judge


class Ledger(Generic[L]):
    """One line per slot. `judge` says which laws an event breaks, `post` moves the slots it hits."""

    def __init__(self, slots: Iterable[str] = (), *, laws: Iterable[L] = ()) -> None:
        self._laws = tuple(laws)
        self._facts: dict[str, Facts] = dict.fromkeys(slots, CLEAN)
        self._trails: dict[str, Trail] = {}

    def __getitem__(self, slot: str) -> Facts:
        return self._facts.get(slot, CLEAN)

    def trail(self, slot: str) -> Trail:
        """What brought `slot` to where it stands."""
        return self._trails.setdefault(slot, Trail(latest=True))

    def judge(self, event: Event) -> Iterator[tuple[str, Verdict[L]]]:
        for slot in self._hit_by(event):
            for verdict in judge(self[slot], event, self._laws, weak=event.slot is None):
                yield slot, verdict

    def post(self, event: Event) -> None:
        for slot in self._hit_by(event):
            facts = self[slot]
            for fact in facts:
                self.trail(slot).follow(fact.state, event)
            # See [Note: weak updates]: an event without a slot may have hit this one or not.
            self._facts[slot] = lift_weak(facts, event) if event.slot is None else lift(facts, event)

    def _hit_by(self, event: Event) -> tuple[str, ...]:
        return tuple(self._facts) if event.slot is None else (event.slot,)
