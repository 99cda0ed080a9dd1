"""From a verdict to a finding: the rule's sentence with the user's own lines in it."""

from collections.abc import Iterable

from zerograd.core.events import Event, Kind, Site
from zerograd.core.findings import Certainty, Finding, Related
from zerograd.core.judgement import Trail, Verdict
from zerograd.core.machine import HOLLOW, Content, Mark, State
from zerograd.rules.rule import Broken, Rule

_ROLE = {
    Kind.DEPOSIT: "deposit",
    Kind.SPILL: "spill",
    Kind.ABANDON: "exit",
    Kind.CLEAR: "clear",
    Kind.CONSUME: "consumer",
    Kind.CLIP: "clip",
}
_PLAIN = {
    "deposit": "backward()",
    "spill": "another backward()",
    "exit": "an iteration that was given up",
    "clear": "zero_grad()",
    "consumer": "an earlier step()",
    "clip": "the clip",
}
_PART = {
    Kind.DEPOSIT: "the gradient is deposited here",
    Kind.SPILL: "another objective's gradient is deposited here",
    Kind.ABANDON: "the iteration is given up here",
    Kind.CLEAR: "it is cleared here",
    Kind.CONSUME: "it is consumed here",
    Kind.CLIP: "it is clipped here",
    Kind.UNSCALE: "it is unscaled here",
    Kind.RESCALE: "it is rescaled here",
    Kind.REDUCE: "it is reduced here",
    Kind.SCHEDULE: "the schedule moves here",
}
# A step that is judged has starved. A clear that is judged stands inside a window, whose step gets what is left.
ERASED = "{what} erases the earlier micro-batches of the group: only what comes after it reaches the step"
NOWHERE = Site("", 0)


def tell(verdict: Verdict[Rule], trail: Trail) -> Finding:
    """A finding at the event that broke the rule."""
    rule, event = verdict.law, verdict.event
    site, state = event.site or NOWHERE, verdict.state
    led = trail.leading_to(rule.led_by)
    if event.kind is Kind.CONSUME and Content.MIXED in rule.led_by:
        led = _with_own_deposit(led, trail, site)
    if rule.at is not None and event.kind is not rule.at:
        places = [other.site for other in trail.leading_to([rule.at]) if other.site is not None]
        # A clip that a backward adds to came behind the one before; any other stands before what it spoils.
        later = event.kind is Kind.DEPOSIT and Mark.BLIND not in state.marks
        site = _nearest(places, site, later=later)
    names = {
        "step": event.what or "step()",
        "what": event.what,
        "place": _place(state),
        "scaled": _scaled(state),
        **_PLAIN,
    }
    names |= {"clip": event.what} if event.kind is Kind.CLIP else {}
    first = {other.kind: other for other in reversed(led) if other.kind in _ROLE}  # it gives the name of its role
    for kind, other in first.items():
        # The event that the finding stands at needs no place of its own.
        names[_ROLE[kind]] = other.what if kind is rule.at else _name(other, site)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=(ERASED if event.kind is Kind.CLEAR else rule.message).format(**names),
        site=site,
        certainty=Certainty.CERTAIN if verdict.certain else Certainty.POSSIBLE,
        severity=rule.severity,
        related=_related(led, site),
        cure=rule.remedy,
    )


def note(
    rule: Rule, site: Site, *, certain: bool, unless: str = "", related: tuple[Related, ...] = (), **names: str
) -> Finding:
    """A finding of an idiom rule: its detector knows where, and fills in the sentence. `unless`: what may excuse it."""
    if unless and not certain:
        related = (*related, Related(site, f"only possible: {unless}"))
    return Finding(
        code=rule.code,
        name=rule.name,
        message=rule.message.format(**names),
        site=site,
        certainty=Certainty.CERTAIN if certain else Certainty.POSSIBLE,
        severity=rule.severity,
        related=related,
        cure=rule.remedy,
    )


def answer(rule: Rule, broken: Broken) -> Finding:
    """A finding of a rule that has asked the world."""
    told = rule._replace(
        message=broken.message or rule.message,
        remedy=broken.remedy or rule.remedy,
        severity=broken.severity or rule.severity,
    )
    return note(told, broken.site, certain=broken.certain, related=broken.related, **broken.names)


def erased(rule: Rule, site: Site, what: str, related: tuple[Related, ...]) -> Finding:
    """A clear that erases the micro-batches before it, in a loop that shows no window."""
    message = ERASED.format(what=what)
    return Finding(
        rule.code, rule.name, message, site, Certainty.CERTAIN, rule.severity, related=related, cure=rule.remedy
    )


def _with_own_deposit(led: tuple[Event, ...], trail: Trail, step: Site) -> tuple[Event, ...]:
    """The backward right before the step for the one that was first to add to what is stale: where several losses share
    a loop, that may be another's. Nobody believes a finding that points at the wrong loss."""
    deposits = [(one.site, one) for one in trail.leading_to([Kind.DEPOSIT]) if one.site is not None]
    before = (one for site, one in reversed(deposits) if site.path == step.path and site.line <= step.line)
    own = next(before, None)
    others = tuple(one for one in led if one.kind is not Kind.DEPOSIT)
    return (*others, own) if own is not None and len(others) < len(led) else led


def _nearest(places: list[Site], here: Site, *, later: bool) -> Site:
    """Of several places, the nearest one before this, or behind it; else the other way round."""
    behind = [place for place in places if place > here]
    before = [place for place in places if place <= here]
    first, second = (behind[:1], before[-1:]) if later else (before[-1:], behind[:1])
    return (first or second or [here])[0]


def _place(state: State) -> str:
    """Where a clip stands that stands wrong."""
    if state.content is Content.SPENT:
        return "gradients that the step has already consumed"
    if state.content in HOLLOW:
        return "before any backward() has deposited"
    return "once per micro-batch, before the group is complete"


def _scaled(state: State) -> str:
    """What the loss scale has to do with what a step finds."""
    if Mark.UNEVEN in state.marks:
        return "of a scaled loss and of a plain one, which it divides by the loss scale alike"
    return "that are still multiplied by the loss scale"


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


def _related(events: Iterable[Event], here: Site) -> tuple[Related, ...]:
    placed = [(event.site, event.kind) for event in events if event.site is not None and event.site.line]
    return tuple([Related(site, _PART[kind]) for site, kind in placed if site != here])
