"""From a verdict to a finding: the rule's sentence with the user's own lines in it."""

from collections.abc import Iterable

from zerograd.core.events import Event, Kind, Site
from zerograd.core.findings import Certainty, Finding, Related
from zerograd.core.judgement import Trail, Verdict
from zerograd.rules.rule import Rule

_ROLE = {Kind.DEPOSIT: "deposit", Kind.CLEAR: "clear", Kind.CONSUME: "consumer"}
_PLAIN = {"deposit": "backward()", "clear": "zero_grad()", "consumer": "an earlier step()"}
_PART = {
    Kind.DEPOSIT: "the gradient is deposited here",
    Kind.CLEAR: "it is cleared here",
    Kind.CONSUME: "it is consumed here",
}
NOWHERE = Site("", 0)


def tell(verdict: Verdict[Rule], trail: Trail) -> Finding:
    rule, event = verdict.law, verdict.event
    site = event.site or NOWHERE
    led = trail.leading_to(rule.led_by)
    names = {"step": event.what or "step()", **_PLAIN}
    for other in reversed(led):  # of several events in one role the first gives the name
        if other.kind in _ROLE:
            names[_ROLE[other.kind]] = _name(other, site)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=rule.message.format(**names),
        site=site,
        certainty=Certainty.CERTAIN if verdict.certain else Certainty.POSSIBLE,
        severity=rule.severity,
        related=tuple(_related(led, site)),
        cure=rule.remedy,
    )


def _name(event: Event, here: Site) -> str:
    what = event.what or event.kind.value
    there = event.site
    if there is None or not there.line:
        return what
    if there == here:
        return f"{what} one iteration earlier"
    if there.path == here.path:
        return f"{what} on line {there.line}"
    return f"{what} at {there.path}:{there.line}"


def _related(events: Iterable[Event], here: Site) -> Iterable[Related]:
    for event in events:
        if event.site is not None and event.site.line and event.site != here:
            yield Related(event.site, _PART[event.kind])
