"""A fix is offered only if it was tried: applied to the text, it parses, the finding is gone and no other has come.

What cannot be made so is told as text, in the finding's cure. Nothing is offered for a finding that a branch may
excuse, for Python 2, or near optimizers whose methods are not torch's own.
"""

import ast
from collections import Counter
from collections.abc import Callable, Sequence

from zerograd.core.findings import Certainty, Finding, Fix, Severity
from zerograd.errors import SourceError
from zerograd.source.fixes.acts import is_wrapped
from zerograd.source.fixes.makers import MAKERS, OF_VALUES
from zerograd.source.fixes.page import Page
from zerograd.source.fixes.places import Places, apply

Check = Callable[[str], list[Finding]]  # all findings of a text that stands in this one's place
_MOST = 60  # fixes that are tried in one file: each is as much work as a check


def offer(
    findings: Sequence[Finding], text: str, path: str, check: Check, everything: Sequence[Finding] | None = None
) -> list[Finding]:
    """The findings of a text, with the fixes there are. `everything`: what `check` finds in it, where that is known."""
    if not any(finding.code in MAKERS and finding.certainty is Certainty.CERTAIN for finding in findings):
        return list(findings)
    try:
        trial = Trial(text, path, check, everything)
    except (SyntaxError, ValueError):  # Python 2, which is read by guessing
        return list(findings)
    return [finding._replace(fix=trial.fix(finding)) for finding in findings]


class Trial:
    """The fixes of one text, tried."""

    def __init__(self, text: str, path: str, check: Check, before: Sequence[Finding] | None = None) -> None:
        self._page = Page(text, path)
        self._text = text
        self._check = check
        self._wrapped = is_wrapped(self._page)
        self._left = _MOST
        self._before = check(text) if before is None else before

    def fix(self, finding: Finding) -> Fix | None:
        maker = MAKERS.get(finding.code)
        barred = self._wrapped and finding.code not in OF_VALUES
        if maker is None or barred or finding.certainty is not Certainty.CERTAIN:
            return None
        for fix in maker(self._page, finding):
            if not self._left:
                return None
            self._left -= 1
            if self.cures(finding, fix):
                return fix
        return None

    def cures(self, finding: Finding, fix: Fix) -> bool:
        fixed = apply(self._text, fix.edits)
        try:
            ast.parse(fixed)
            after = self._check(fixed)
        except (SyntaxError, ValueError, SourceError):
            return False
        gone = _about(self._before, self._text, notes=True) - _about(after, fixed, notes=True)
        return gone[_key(finding, self._page.places)] > 0 and not any(
            _about(after, fixed, certain=certain) - _about(self._before, self._text, certain=certain)
            for certain in (False, True)
        )


Key = tuple[str, str]


def _about(findings: Sequence[Finding], text: str, *, notes: bool = False, certain: bool = False) -> Counter[Key]:
    """Findings by what they say of which line, wherever that line has moved to."""
    places = Places(text)
    return Counter(
        _key(finding, places)
        for finding in findings
        if (notes or finding.severity is not Severity.NOTE) and (not certain or finding.certainty is Certainty.CERTAIN)
    )


def _key(finding: Finding, places: Places) -> Key:
    return finding.code, places.line(finding.site.line).strip()
