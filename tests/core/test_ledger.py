from zerograd.core.events import Event, Kind, Site
from zerograd.core.ledger import Ledger
from zerograd.core.machine import Content
from zerograd.rules import REGISTRY


def _post(ledger: Ledger, *kinds: str, slot: str | None = "opt") -> list[tuple[str, str, bool]]:
    broken = []
    for line, kind in enumerate(kinds, start=1):
        event = Event(Kind[kind], slot, Site("loop.py", line))
        broken += [(where, verdict.law.code, verdict.certain) for where, verdict in ledger.judge(event)]
        ledger.post(event)
    return broken


def test_slots_have_lives_of_their_own() -> None:
    ledger = Ledger(("a", "b"), laws=REGISTRY.values())
    assert _post(ledger, "DEPOSIT", "CONSUME", "DEPOSIT", slot="a") == []
    assert {fact.state.content for fact in ledger["b"]} == {Content.NEW}
    assert _post(ledger, "CONSUME", slot="a") == [("a", "ZG001", True)]


def test_an_event_without_a_slot_may_have_hit_any() -> None:
    ledger = Ledger(("a", "b"), laws=REGISTRY.values())
    _post(ledger, "DEPOSIT", slot="a")
    _post(ledger, "CLEAR", slot=None)
    assert {fact.state.content for fact in ledger["a"]} == {Content.FRESH, Content.LOST}
    assert _post(ledger, "CONSUME", slot="a") == [("a", "ZG002", False)]


def test_the_trail_names_what_led_here() -> None:
    ledger = Ledger(laws=REGISTRY.values())
    _post(ledger, "DEPOSIT", "CLEAR")
    led = ledger.trail("opt").leading_to((Content.FRESH, Content.LOST))
    assert [(event.kind, event.site.line) for event in led] == [(Kind.DEPOSIT, 1), (Kind.CLEAR, 2)]
