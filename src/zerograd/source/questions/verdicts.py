"""What the laws say of the states that a run came to: from a fault that was met to a finding."""

from collections.abc import Iterator
from functools import lru_cache

from zerograd.core.events import Kind
from zerograd.core.findings import Certainty, Finding, Related
from zerograd.core.judgement import Trail, Verdict
from zerograd.core.world import UnclearedClosure, World
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule
from zerograd.rules.telling import note, tell
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.gradients import Met, is_starved
from zerograd.source.execute.paths import Slot
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.questions import coverage, scales


def verdicts(ex: Execution, world: World) -> Iterator[Finding]:
    """A finding of every fault that was met. Of a closure that never clears its step is not accused besides;
    nor is an optimizer of finding nothing, where it holds what nobody uses any more."""
    closures = {one.site for one in world.every(UnclearedClosure)}
    orphans = {optimizer for one, optimizer, _ in ex.orphaned.values() if one.certain}
    for (law, site), met in ex.met.items():
        if site in closures and met.verdict.event.kind is Kind.CONSUME:
            continue
        if is_starved(met.verdict) and met.slot[0] in orphans:
            continue
        finding = _tell(ex, law, met)
        if finding is not None:
            yield finding


@lru_cache(maxsize=1)
def _refined() -> dict[str, Rule]:
    return {rule.refines: rule for rule in REGISTRY.values() if rule.refines}


def _excuse(ex: Execution, law: Rule, met: Met) -> tuple[Related, ...]:
    """What may excuse a fault that is only possible."""
    verdict, optimizer = met.verdict, met.slot[0]
    lacking, site = law.lacks(verdict.state, verdict.event), verdict.event.site
    if site is None or lacking is None:
        return ()
    found = ex.excuses.nearest(met.slot, lacking, site)
    if found is None and optimizer is not None and optimizer.hinted:
        found = Related(site, "only possible: this may not be a torch optimizer")
    return (found,) if found is not None else ()


def _followed(ex: Execution, slot: Slot) -> Slot:
    """The slot whose events lead to a fault: of what a scaler remembers, one that its optimizer steps."""
    if slot[1] is None or slot[1].kind is not ObjectKind.STAGE:
        return slot
    return next((one for one in ex.events if one[0] is slot[0] and one != slot), slot)


def _tell(ex: Execution, law: Rule, met: Met) -> Finding | None:
    if law.needs_loss and not (met.learns and ex.tables.losses):
        return None
    optimizer = met.slot[0]
    deposited = any(optimizer in deposit.optimizers for deposit in ex.deposits.values())
    if law.at is Kind.CLIP and not deposited and (met.verdict.event.kind is Kind.CLIP or scales.is_ever_unscaled(ex)):
        return None  # whoever deposits is out of sight
    certain = met.certain and not (ex.tables.examined and not met.looped)
    windows = ex.tables.stepping.get(optimizer, set()) if isinstance(optimizer, Obj) else set()
    lengths = {place.of.base for place, _ in windows}
    if law.at is Kind.CLIP and met.verdict.event.kind is Kind.DEPOSIT:  # once per micro-batch, whichever window it is
        lengths |= {place.of.base for places in ex.tables.windows.values() for place in places}
    certain = certain and not any(ex.is_refused(length, met.slot) for length in lengths)
    if is_starved(met.verdict):
        certain = certain and not any(
            site == met.verdict.event.site and True in starved.values() and False in starved.values()
            for (site, _), starved in ex.stepped_each.items()
        )
    events = ex.events.get(_followed(ex, met.slot))
    trail = events.on_the_way(met.answered) if events is not None else Trail(latest=False)
    by_hand = optimizer is None or optimizer.kind is ObjectKind.HAND
    said = law._replace(remedy=law.by_hand) if by_hand and law.by_hand else law
    finding = tell(Verdict(said, met.verdict.event, met.verdict.state, certain), trail)
    if not certain:
        finding = finding._replace(related=(*finding.related, *_excuse(ex, law, met)))
    refined = None if optimizer is not None and by_hand else _refined().get(law.code)
    names = coverage.cleared_instead(ex, met.slot, certain=certain) if refined is not None else None
    if refined is None or names is None:
        return finding
    step = met.verdict.event.what
    told = {"step": step, "slot": step.rpartition(".")[0] or names[1]}
    certain = finding.certainty is Certainty.CERTAIN
    return note(refined, finding.site, certain=certain, related=finding.related, **told)
