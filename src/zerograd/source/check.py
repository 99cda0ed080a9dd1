"""From a text to its findings: open the file, execute every root, judge what happens, ask the world, report."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from zerograd.core.findings import Finding, once
from zerograd.core.judgement import Code
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Question, Rule, Sees, idiom
from zerograd.rules.telling import answer
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.roots import Executed, execute_all
from zerograd.source.project.files import Project
from zerograd.source.project.index import File
from zerograd.source.questions.verdicts import verdicts
from zerograd.source.questions.world import SourceWorld
from zerograd.source.relevance import trains
from zerograd.source.text.suppression import JUDGED, allow


def check_text(
    text: str, path: str = "<text>", *, rules: Iterable[Rule] = (), project: Project | None = None
) -> list[Finding]:
    """The findings in one Python file, by line. Raises SourceError if it is not Python.

    What the file imports is looked up in `project`; without one, no other file is read.
    """
    chosen = tuple(rule for rule in (rules or REGISTRY.values()) if rule.code in JUDGED)
    project = project or Project()
    if not trains(text, path, project):
        return allow([], text, path, chosen)
    codes = {rule.code for rule in chosen}
    try:
        file = project.open(path, text)
        roots = execute_all(project, file, laws(), _report)
        found = once(one for root in roots for one in root.told if one.code in codes and _is_here(one, root, file))
    except RecursionError:
        raise SourceError(f"{path}: is nested too deeply to be read", slug="not-python") from None
    found = [one for one in found if one.site.path == path or not project.allows(one)]
    return allow(found, text, path, chosen)


@lru_cache(maxsize=1)
def laws() -> Code[Rule]:
    """The rules that one state and one event can break."""
    return Code(rule for rule in REGISTRY.values() if Sees.SOURCE in rule.sees and rule.lacks is not idiom)


@lru_cache(maxsize=1)
def _asking() -> tuple[tuple[Rule, Question[Any]], ...]:
    return tuple((rule, rule.asks) for rule in REGISTRY.values() if Sees.SOURCE in rule.sees and rule.asks is not None)


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
