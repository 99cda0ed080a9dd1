"""From a text to its findings, by an abstract run: open, execute every root, judge, ask, report.

`check.py` asks it for the codes that have moved here. `check_abstractly` tells what it would say of the others, too, so
that both readers can be compared.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from zerograd.core.events import Site
from zerograd.core.findings import Finding, once
from zerograd.core.judgement import Code
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Question, Rule, idiom
from zerograd.rules.telling import answer
from zerograd.source.effects.lookup import names_training
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.roots import Executed, execute_all
from zerograd.source.heap.objects import ObjectKind
from zerograd.source.project.files import Project
from zerograd.source.project.index import File
from zerograd.source.questions.verdicts import verdicts
from zerograd.source.questions.world import SourceWorld
from zerograd.source.text.triggers import may_train

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
        "ZG008",
        "ZG009",
        "ZG010",
        "ZG101",
        "ZG102",
        "ZG103",
        "ZG105",
        "ZG106",
        "ZG107",
        "ZG201",
        "ZG202",
        "ZG203",
        "ZG204",
        "ZG301",
        "ZG302",
        "ZG303",
        "ZG304",
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
        roots = execute_all(project, file, laws(), _report)
        found = [finding for root in roots for finding in root.told if _is_here(finding, root, file)]
    except RecursionError:
        raise SourceError(f"{path}: is nested too deeply to be read", slug="not-python") from None
    return once(found)


class Acts(NamedTuple):
    """Where a file goes backward, clears and steps, in the order of places."""

    deposits: tuple[Site, ...]
    clears: tuple[Site, ...]
    steps: tuple[Site, ...]
    scaled: frozenset[Site]  # the steps that a gradient scaler takes
    is_managed: bool  # something beside torch may decide when gradients are cleared: an engine, a captured graph


def acts(text: str, path: str = "<text>", *, project: Project | None = None) -> Acts:
    """What a file does to gradients, and where. Raises SourceError if it is not Python."""
    project = project or Project()
    file = project.open(path, text)
    found = [one for root in execute_all(project, file, laws(), _acts) for one in root.told]
    deposits, clears, steps = (
        tuple(sorted({site for one in found for site in getattr(one, kind) if site.path == file.path}))
        for kind in ("deposits", "clears", "steps")
    )
    scaled = frozenset().union(*(one.scaled for one in found))
    return Acts(deposits, clears, steps, scaled, any(one.is_managed for one in found))


NO_ACTS = Acts((), (), (), frozenset(), is_managed=False)
_MANAGING = (ObjectKind.ACCELERATOR, ObjectKind.ENGINE, ObjectKind.REPLAY)


def _acts(ex: Execution) -> Iterator[Acts]:
    steps = tuple(site for _, site, _ in ex.taken)
    scaled = frozenset(site for sites in ex.steps_of_scalers.values() for site in sites)
    managed = any(one.kind in _MANAGING for one in ex.heap.all())
    yield Acts(tuple(ex.deposits), tuple(ex.clears), steps, scaled, managed)


def _may_train_elsewhere(text: str, path: str, project: Project) -> bool:
    """Whether a text that has to do with torch leaves it to another file of the project to train."""
    return "torch" in text and any(names_training(other) for other in project.imported_texts(path, text))


@lru_cache(maxsize=1)
def laws() -> Code[Rule]:
    return Code(rule for code, rule in REGISTRY.items() if code in CODES and rule.lacks is not idiom)


@lru_cache(maxsize=1)
def _asking() -> tuple[tuple[Rule, Question[Any]], ...]:
    return tuple((rule, rule.asks) for code, rule in REGISTRY.items() if code in CODES and rule.asks is not None)


def _report(ex: Execution) -> Iterator[Finding]:
    """What the laws say of one root's events, and the rules of its world, wherever it stands."""
    world = SourceWorld(ex)
    yield from verdicts(ex, world)
    for rule, question in _asking():
        for one in world.every(question.about):
            for broken in question.breaks(one):
                yield answer(rule, broken)


def _is_here(finding: Finding, root: Executed, file: File) -> bool:
    if finding.site.path != file.path:
        return root.is_own and root.lines is None  # in another file of the project, where this one leads
    return root.lines is None or finding.site.line in root.lines
