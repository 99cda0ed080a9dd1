"""A trace through the model again: the findings of a run, from what it wrote."""

from collections.abc import Iterable

from zerograd.core.events import Event
from zerograd.core.findings import Finding
from zerograd.core.ledger import Ledger
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule
from zerograd.rules.telling import tell


def replay(events: Iterable[Event], *, rules: Iterable[Rule] = ()) -> list[Finding]:
    """What the lifecycle rules say about `events`, in the order in which it happened."""
    ledger: Ledger[Rule] = Ledger(laws=rules or REGISTRY.values())
    findings: list[Finding] = []
    for event in events:
        # The trail is told before the event joins it: a finding names what led to it.
        for slot, verdict in ledger.judge(event):
            findings.append(tell(verdict, ledger.trail(slot)))
        ledger.post(event)
    return findings
