"""A fix is offered only if it was tried: applied to the text, it parses, the finding is gone and no other has come.

What cannot be made so is told as text, in the finding's cure. Nothing is offered for a finding that a branch may
excuse, for Python 2, or near optimizers whose methods are not torch's own.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from zerograd.core.findings import Certainty, Edit, Finding, Fix, Severity
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.source.acts import acts
from zerograd.source.fixes.acts import is_managed
from zerograd.source.fixes.makers import APART, MAKERS, OF_VALUES
from zerograd.source.fixes.page import Page
from zerograd.source.fixes.places import Places, overlap
from zerograd.source.project.files import Project
from zerograd.source.text.parsing import tree_of

Check = Callable[[str], list[Finding]]  # all findings of a text that stands in this one's place
# Each fix that is tried is as much work as a check: so many of one file, and so many characters in all.
_MOST = 24
_LONGEST = 200_000


def offer(
    findings: Sequence[Finding],
    text: str,
    path: str,
    check: Check,
    everything: Sequence[Finding] | None = None,
    *,
    notes: bool = True,
    project: Project | None = None,
) -> list[Finding]:
    """The findings of a text, with the fixes there are. `everything`: what `check` finds in it, where that is known.
    Without `notes` nothing is tried for those. What the text imports is looked up in `project`."""
    asking = [one for one in findings if (notes or one.severity is not Severity.NOTE) and _may_be_fixed(one, path)]
    if not asking:
        return list(findings)
    try:
        page = Page(text, path, acts(text, path, project=project))
    except (SyntaxError, ValueError, SourceError):  # Python 2, which is read by guessing
        return list(findings)
    if is_managed(page):
        asking = [one for one in asking if one.code in OF_VALUES]
    if not asking:
        return list(findings)
    trial = Trial(page, check, everything)
    trial.try_together([one for one in asking if one.code in APART])
    asked = set(map(id, asking))
    return [one._replace(fix=one.fix or trial.fix(one)) if id(one) in asked else one for one in findings]


def _may_be_fixed(finding: Finding, path: str) -> bool:
    """Whether somebody makes fixes for it, and it is surely a fault of this file, not of a line of another."""
    if finding.code not in MAKERS or finding.certainty is not Certainty.CERTAIN:
        return False
    return os.path.normpath(finding.site.path) == os.path.normpath(path)


class Trial:
    """The fixes of one text, tried."""

    def __init__(self, page: Page, check: Check, before: Sequence[Finding] | None = None) -> None:
        self._page = page
        self._check = check
        self._lines = Lines(page.places)
        self._left = min(_MOST, _LONGEST // (len(page.text) + 1))
        self._before = check(page.text) if before is None else before
        self._tried: dict[Finding, Fix] = {}
        self._found: dict[str, list[Finding] | None] = {}  # by text: one fix may cure several findings

    def fix(self, finding: Finding) -> Fix | None:
        if finding in self._tried:
            return self._tried[finding]
        for fix in MAKERS[finding.code](self._page, finding):
            if not self._left:
                return None
            self._left -= 1
            if self.cures([finding], fix):
                return fix
        return None

    def try_together(self, findings: Sequence[Finding]) -> None:
        """Fifty of a kind are tried by reading the text once. Where that does not cure all, each is tried alone."""
        chosen: dict[Finding, Fix] = {}
        edits: list[Edit] = []
        for finding in findings if len(findings) > 1 else ():
            fix = next(MAKERS[finding.code](self._page, finding), None)
            if fix is not None and not overlap(edits, fix.edits):
                chosen[finding] = fix
                edits += fix.edits
        if self._left and len(chosen) > 1 and self.cures([*chosen], Fix("", tuple(sorted(edits)))):
            self._tried = chosen

    def cures(self, findings: Sequence[Finding], fix: Fix) -> bool:
        fixed = self._page.places.apply(fix.edits)
        if fixed not in self._found:
            self._found[fixed] = self._look(fixed)
        after = self._found[fixed]
        if after is None:
            return False
        before, later = self._before, Lines(Places(fixed), _rewritten(fix, self._lines))
        gone = self._lines.count(before) - later.count(after)
        return not self._lines.count(findings) - gone and not any(
            later.count(chosen(after)) - self._lines.count(chosen(before)) for chosen in (_serious, _certain)
        )

    def _look(self, text: str) -> list[Finding] | None:
        """What is found in a text; None if it cannot be read."""
        try:
            tree_of(text, self._page.path)
            return self._check(text)
        except (SyntaxError, ValueError, SourceError):
            return None


def fault(code: str) -> str:
    """The rule that stands for a code: a clear that is missing for one optimizer is ZG006 once another has its own."""
    return REGISTRY[code].refines or code


class Lines:
    """Findings by what they say of which line, wherever that line has moved to. `known` says what a line was before."""

    def __init__(self, places: Places, known: Mapping[int, str] | None = None) -> None:
        self._places = places
        self._known = known or {}

    def line(self, number: int) -> str:
        return self._known.get(number) or self._places.line(number).strip()

    def key(self, finding: Finding) -> tuple[str, str]:
        return fault(finding.code), self.line(finding.site.line)

    def count(self, findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
        return Counter(map(self.key, findings))


def _rewritten(fix: Fix, lines: Lines) -> dict[int, str]:
    """The lines that a fix changes and keeps, by their new numbers: what they were."""
    known: dict[int, str] = {}
    shift = 0
    for edit in fix.edits:
        grown = Places(edit.text).count - 1
        if edit.line == edit.end_line and not grown:
            known[edit.line + shift] = lines.line(edit.line)
        shift += grown - (edit.end_line - edit.line)
    return known


def _serious(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is not Severity.NOTE]


def _certain(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in _serious(findings) if finding.certainty is Certainty.CERTAIN]
