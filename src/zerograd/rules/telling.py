"""From a verdict to a finding: the rule's sentence with the user's own lines in it."""

from collections.abc import Iterable, Mapping

from zerograd.core.events import Event, Kind, Site
from zerograd.core.findings import Certainty, Finding, Related
from zerograd.core.judgement import Trail, Verdict
from zerograd.core.machine import HOLLOW, Content, Mark, State
from zerograd.rules.rule import USUAL, Broken, Rule, Usual

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
    "exit": "the skipped iteration",
    "clear": "zero_grad()",
    "consumer": "an earlier step()",
    "clip": "the clip",
}
_PART = {
    Kind.DEPOSIT: "adds these gradients",
    Kind.SPILL: "leaves gradients of another loss here",
    Kind.ABANDON: "skips the step and leaves the gradients",
    Kind.CLEAR: "clears them",
    Kind.CONSUME: "uses them",
    Kind.CLIP: "clips them",
    Kind.UNSCALE: "divides them by the loss scale",
    Kind.RESCALE: "multiplies them",
    Kind.REDUCE: "averages them over the ranks",
    Kind.SCHEDULE: "moves the learning rate",
}
# A step that is judged finds nothing. A clear that is judged stands inside a window, whose step gets what is left.
ERASED = "{what} erases micro-batches that no step has used yet"
ERASED_FIX = "call {what} only after step() has run"
UNEVEN_FIX = "call scaler.scale() on every loss before its backward()"
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
    step = event.what or "step()"
    names = {
        "step": step,
        "what": event.what,
        "place": _place(state),
        "scaled": _scaled(state),
        "clearing": clearing(step, scaled=event.scaled),
        **_PLAIN,
    }
    names |= {"clip": event.what} if event.kind is Kind.CLIP else {}
    first = {other.kind: other for other in reversed(led) if other.kind in _ROLE}  # it gives the name of its role
    for kind, other in first.items():
        # The event that the finding stands at needs no place of its own.
        names[_ROLE[kind]] = other.what if kind is rule.at else _name(other, site)
    if Kind.CONSUME in first:
        names["user"] = _name(first[Kind.CONSUME], NOWHERE, path=site.path)
    message, remedy = rule.message, rule.remedy
    if event.kind is Kind.CLEAR:
        message, remedy = ERASED, ERASED_FIX
    elif Mark.UNEVEN in state.marks and "{scaled}" in message:
        remedy = UNEVEN_FIX
    return Finding(
        code=rule.code,
        name=rule.name,
        message=message.format(**names),
        site=site,
        certainty=Certainty.CERTAIN if verdict.certain else Certainty.POSSIBLE,
        severity=rule.severity,
        related=_related(led, site, rule, names),
        cure=filled(remedy, names),
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
        cure=filled(rule.remedy, names),
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
    told = rule._replace(message=ERASED, remedy=ERASED_FIX)
    return note(told, site, certain=True, related=related, what=what)


def filled(sentence: str, names: Mapping[str, str]) -> str:
    """The sentence with the program's names; with the usual ones for those that are not known."""
    known = {name: text for name, text in names.items() if text}
    if "step" in known:
        known.setdefault("clearing", clearing(known["step"]))
    return sentence.format_map(Usual({**USUAL, **known}))


def clearing(step: str, *, scaled: bool = False) -> str:
    """The call that clears what this step uses: `optimizer.zero_grad()` of `optimizer.step()`. `scaled`: a scaler's."""
    called, _, given = step.partition("(")
    owner, _, method = called.rpartition(".")
    if scaled:  # scaler.step(optimizer)
        owner = given.rpartition(")")[0].partition(",")[0].strip()
    return f"{owner}.zero_grad()" if owner and method == "step" else USUAL["clearing"]


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
    """What a clip in the wrong place clips."""
    if state.content is Content.SPENT:
        return "gradients that step() has already used"
    if state.content in HOLLOW:
        return "before backward() has run"
    return "every micro-batch, not the whole group"


def _scaled(state: State) -> str:
    """What the loss scale has to do with what a step finds."""
    if Mark.UNEVEN in state.marks:
        return "of a scaled and of an unscaled loss"
    return "that are still multiplied by the loss scale"


def _name(event: Event, here: Site, *, path: str = "") -> str:
    what = event.what or event.kind.value
    there = event.site
    if there is None or not there.line:
        return what
    if there == here:
        return f"{what} one iteration earlier"
    if there.path == (path or here.path):
        return f"{what} on line {there.line}"
    return f"{what} at {there.path}:{there.line}"


def _related(events: Iterable[Event], here: Site, rule: Rule, names: Mapping[str, str]) -> tuple[Related, ...]:
    parts = {**_PART, **dict(rule.beside)}
    placed = [(event.site, event.kind) for event in events if event.site is not None and event.site.line]
    told = [Related(site, filled(parts[kind], names)) for site, kind in placed if site != here]
    return tuple(dict.fromkeys(told))
