"""From a text to its findings, by an abstract run: open, execute every root, judge, ask, report.

`check.py` asks it for the codes that have moved here. `check_abstractly` tells what it would say of the others, too, so
that both readers can be compared.
"""

from collections.abc import Iterator
from functools import lru_cache

from zerograd.core.events import Kind
from zerograd.core.findings import Certainty, Finding, Related, Severity, once
from zerograd.core.judgement import Code, Trail, Verdict
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule, idiom, no_question
from zerograd.rules.telling import UNUSED, note, tell
from zerograd.source.effects.lookup import names_training
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.gradients import Met, is_starved
from zerograd.source.execute.paths import Slot
from zerograd.source.execute.roots import Executed, execute_all
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.project.files import Project
from zerograd.source.project.index import File
from zerograd.source.questions import (
    barren,
    clears,
    clips,
    closures,
    coverage,
    handed,
    idle,
    retained,
    scales,
    shared,
    ungraded,
    wasted,
)
from zerograd.source.questions.world import SourceWorld
from zerograd.source.text.triggers import may_train

UNGRADED = "a tensor that takes no gradient is given to the optimizer: no step will move it"
BARREN = "the loss is made a new leaf: backward() stops there, and nothing that it was computed from gets a gradient"
NOT_HANDED = "training_step() returns no loss: Lightning has nothing to go backward with"
KEPT = "{what} keeps the graph of every iteration alive"
IDLE = "a term of this loss was cut from its graph: it is in the value and teaches nothing"
LISTED_TWICE = "{what} is given the same parameters twice: each step consumes their gradients twice"
HELD_TWICE = "{what} holds parameters that the optimizer of line {line} holds too: both step them after one backward()"
HOLD_ONCE = "let every parameter be held once: by one optimizer, in one place"
# The codes that this reader answers for.
CODES = frozenset(
    [
        "ZG001",
        "ZG002",
        "ZG003",
        "ZG004",
        "ZG005",
        "ZG006",
        "ZG007",
        "ZG009",
        "ZG101",
        "ZG102",
        "ZG103",
        "ZG105",
        "ZG107",
        "ZG201",
        "ZG202",
        "ZG203",
        "ZG204",
        "ZG301",
        "ZG302",
        "ZG305",
        "ZG306",
        "ZG401",
        "ZG402",
        "ZG403",
        "ZG501",
        "ZG502",
    ]
)


def check_abstractly(text: str, path: str = "<text>", *, project: Project | None = None) -> list[Finding]:
    """The findings in one Python file, by line. Raises SourceError if it is not Python."""
    project = project or Project()
    if not may_train(text) and not _may_train_elsewhere(text, path, project):
        return []
    try:
        file = project.open(path, text)
        found = [finding for root in execute_all(project, file, laws()) for finding in _report(root, file)]
    except RecursionError:
        raise SourceError(f"{path}: is nested too deeply to be read", slug="not-python") from None
    return once(found)


def _may_train_elsewhere(text: str, path: str, project: Project) -> bool:
    """Whether a text that has to do with torch leaves it to another file of the project to train."""
    return "torch" in text and any(names_training(other) for other in project.imported_texts(path, text))


@lru_cache(maxsize=1)
def laws() -> Code[Rule]:
    return Code(rule for code, rule in REGISTRY.items() if code in CODES and rule.lacks is not idiom)


@lru_cache(maxsize=1)
def _refined() -> dict[str, Rule]:
    return {rule.refines: rule for rule in REGISTRY.values() if rule.refines and rule.code in CODES}


def _report(root: Executed, file: File) -> Iterator[Finding]:
    """The findings of one root that stand in this file."""
    ex = root.execution
    uncleared = {site for site, _, _ in closures.uncleared(ex)}
    for (law, site), met in ex.met.items():
        if site in uncleared and met.verdict.event.kind is Kind.CONSUME:
            continue  # that is told of the closure
        finding = _tell(ex, law, met)
        if finding is not None and _is_here(finding, root, file):
            yield finding
    yield from _of_windows(ex, root, file)
    rule = REGISTRY["ZG003"]._replace(message=IDLE)
    for site, certain in idle.idle_terms(ex):
        finding = note(rule, site, certain=certain)
        if _is_here(finding, root, file):
            yield finding
    told = [(UNGRADED, ungraded.ungraded(ex)), (NOT_HANDED, handed.not_handed(ex)), (BARREN, barren.barren(ex))]
    for message, sites in told:
        rule = REGISTRY["ZG003"]._replace(message=message)
        for site in sites:
            finding = note(rule, site, certain=True)
            if _is_here(finding, root, file):
                yield finding
    if "ZG402" in CODES:
        yield from _of_graphs(ex, root, file)
    rule = REGISTRY["ZG002"]._replace(message=UNUSED)
    for one in wasted.wasted(ex):
        finding = note(rule, one.site, certain=not ex.tables.examined, clear=one.clear, line=str(one.deposit.line))
        if _is_here(finding, root, file):
            yield finding
    yield from _held_twice(ex, root, file)
    for finding in _of_holding(ex):
        if _is_here(finding, root, file):
            yield finding
    rule = REGISTRY["ZG302"]
    for unused in clips.unused(ex):
        finding = note(rule, unused.site, certain=unused.certain, clip=unused.what, place=unused.place)
        if _is_here(finding, root, file):
            yield finding
    for scale in scales.never_updated(ex):
        finding = note(REGISTRY["ZG203"], scale.site, certain=scale.certain, what=scale.what)
        if _is_here(finding, root, file):
            yield finding._replace(cure=scale.cure) if scale.cure else finding
    rule = REGISTRY["ZG009"]
    for site, what, certain in closures.uncleared(ex):
        finding = note(rule, site, certain=certain, step=what)
        if _is_here(finding, root, file):
            yield finding


def _of_holding(ex: Execution) -> Iterator[Finding]:
    """Who holds what, and whether it is what learns."""
    for gone in ex.exhausted.values():
        related = (Related(gone.read_at, "it is read to the end here"),) if gone.read_at != gone.site else ()
        names = {"name": gone.name, "consumer": gone.consumer}
        yield note(REGISTRY["ZG306"], gone.site, certain=gone.certain, related=related, **names)
    for one in shared.growing(ex):
        rule = REGISTRY["ZG305"]
        yield note(rule, one.site, certain=one.certain, what=one.what, giver=one.giver, cleared=one.cleared)
    for twice in clears.cleared_twice(ex):
        related = (Related(twice.first, "they are cleared here"),)
        names = {"clear": twice.clear, "other": twice.other}
        yield note(REGISTRY["ZG403"], twice.site, certain=True, related=related, **names)
    for site, what in clears.zeros_kept(ex):
        yield note(REGISTRY["ZG401"], site, certain=True, clear=what)


def _held_twice(ex: Execution, root: Executed, file: File) -> Iterator[Finding]:
    """Parameters whose gradients are consumed twice, by one optimizer or by two."""
    for twice in ex.held_twice.values():
        other = twice.other
        line = str(other.line) if other is not None else ""
        rule = REGISTRY["ZG004"]._replace(message=LISTED_TWICE if other is None else HELD_TWICE, remedy=HOLD_ONCE)
        related = (Related(other, "the other optimizer is made here"),) if other is not None else ()
        finding = note(rule, twice.site, certain=True, related=related, what=twice.what, line=line)
        if _is_here(finding, root, file):
            yield finding


def _of_graphs(ex: Execution, root: Executed, file: File) -> Iterator[Finding]:
    """Graphs that an iteration leaves behind."""
    for one in retained.retained(ex):
        severity = Severity.NOTE if one.freed else Severity.WARNING
        rule = REGISTRY["ZG402"]._replace(severity=severity, message=KEPT)
        finding = note(rule, one.site, certain=one.certain, what=one.what)
        if _is_here(finding, root, file):
            yield finding


def _of_windows(ex: Execution, root: Executed, file: File) -> Iterator[Finding]:
    """What the rules say that ask how a step is fed."""
    for window in SourceWorld(ex).windows():
        for rule in _asking():
            for broken in rule.asks(window):
                told = rule._replace(message=broken.message) if broken.message else rule
                finding = note(told, broken.site, certain=broken.certain, related=(), **broken.names)
                if _is_here(finding, root, file):
                    yield finding


@lru_cache(maxsize=1)
def _asking() -> tuple[Rule, ...]:
    return tuple(rule for code, rule in REGISTRY.items() if code in CODES and rule.asks is not no_question)


def _is_here(finding: Finding, root: Executed, file: File) -> bool:
    if finding.site.path != file.path:
        return root.is_own and root.lines is None  # in another file of the project, where this one leads
    return root.lines is None or finding.site.line in root.lines


def _excuse(ex: Execution, law: Rule, met: Met) -> tuple[Related, ...]:
    """What may excuse a fault that is only possible."""
    verdict, optimizer = met.verdict, met.slot[0]
    lacking, site = law.lacks(verdict.state, verdict.event), verdict.event.site
    if site is None or lacking is None:
        return ()
    found = ex.excuses.nearest(met.slot, lacking, site)
    if found is None and optimizer is not None and optimizer.hinted:
        found = Related(site, "only possible: what is stepped here may be no optimizer of torch, or clear by itself")
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
    finding = tell(Verdict(law, met.verdict.event, met.verdict.state, certain), trail)
    if not certain:
        finding = finding._replace(related=(*finding.related, *_excuse(ex, law, met)))
    refined = _refined().get(law.code) if optimizer is None or optimizer.kind is not ObjectKind.HAND else None
    names = coverage.cleared_instead(ex, met.slot, certain=certain) if refined is not None else None
    if refined is None or names is None:
        return finding
    step = met.verdict.event.what
    told = {"step": step, "cleared": names[0], "slot": step.rpartition(".")[0] or names[1]}
    certain = finding.certainty is Certainty.CERTAIN
    return note(refined, finding.site, certain=certain, related=finding.related, **told)
