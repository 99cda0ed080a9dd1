"""Several fixes of one file at once, and again, until nothing is left that they can mend.

Each fix was tried alone; together they are tried again. Where they do not agree, the first is made alone, and the
others wait for the next round, in which they are made anew for the text as it then is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from zerograd.core.findings import Edit, Finding, Safety, Severity
from zerograd.errors import SourceError
from zerograd.source.files.discover import NOTEBOOK
from zerograd.source.fixes.offering import fault
from zerograd.source.fixes.places import apply, overlap

Look = Callable[[str], list[Finding]]  # the findings of a text that are shown, with their fixes
_ROUNDS = 20


class Mended(NamedTuple):
    text: str
    fixed: tuple[Finding, ...]
    left: tuple[Finding, ...]


def mend(text: str, path: str, look: Look, *, unsafe: bool) -> Mended:
    fixed: list[Finding] = []
    left = look(text)
    for _ in range(_ROUNDS):
        chosen = _together([finding for finding in left if is_fixable(finding, unsafe=unsafe)])
        for some in (chosen, chosen[:1]):
            mended = _made(text, path, some)
            after = _look(look, mended) if mended != text else None
            if after is not None and _is_better(left, after, some):
                text, left = mended, after
                fixed += some
                break
        else:
            break
    return Mended(text, tuple(fixed), tuple(left))


def is_fixable(finding: Finding, *, unsafe: bool) -> bool:
    return finding.fix is not None and (unsafe or finding.fix.safety is Safety.SAFE)


def _together(findings: Sequence[Finding]) -> list[Finding]:
    """Those whose fixes leave each other alone, or are the same."""
    chosen: list[Finding] = []
    for finding in findings:
        if finding.fix is not None and not any(_disagree(finding, other) for other in chosen):
            chosen.append(finding)
    return chosen


def _disagree(one: Finding, other: Finding) -> bool:
    assert one.fix is not None
    assert other.fix is not None
    if one.fix.edits == other.fix.edits:
        return False
    # Two findings about one step may be cured by one of them: the other is looked at again when that is made.
    return one.site == other.site or overlap(one.fix.edits, other.fix.edits)


def _made(text: str, path: str, findings: Iterable[Finding]) -> str:
    fixes = dict.fromkeys(finding.fix.edits for finding in findings if finding.fix is not None)  # one for several, once
    edits: list[Edit] = [edit for one in fixes for edit in one]
    if not path.endswith(NOTEBOOK):
        return apply(text, edits)
    from zerograd.source.notebooks.rewriting import rewrite

    return rewrite(text, path, edits)


def _look(look: Look, text: str) -> list[Finding] | None:
    try:
        return look(text)
    except SourceError:
        return None


def _is_better(before: Sequence[Finding], after: Sequence[Finding], fixed: Sequence[Finding]) -> bool:
    """Whether what was to go is gone, and nothing but notes has come."""
    expected = _codes(before)
    expected.subtract(_codes(fixed))
    found = _codes(after)
    mended = all(found[code] <= expected[code] for code in _codes(fixed))
    return mended and all(found[code] <= expected[code] for code in _codes(_serious(after)))


def _codes(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(fault(finding.code) for finding in findings)


def _serious(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is not Severity.NOTE]
