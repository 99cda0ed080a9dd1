"""How many findings there are of each kind, in the one wording that every front end closes with."""

from collections.abc import Iterable

from zerograd.core.findings import Certainty, Finding, Severity


def tally(findings: Iterable[Finding], *, possible: bool = True, notes: bool = True) -> str:
    """ "1 error, 2 warnings, 1 note (hidden: --notes), 3 possible (hidden: --possible)"; "" where there is none.

    `possible`, `notes`: whether these are shown. What is not is counted all the same, with the option that shows it.
    """
    everything = list(findings)
    certain = [finding for finding in everything if finding.certainty is Certainty.CERTAIN]
    doubtful = [finding for finding in everything if finding.certainty is Certainty.POSSIBLE]
    parts = []
    for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE):
        number = sum(finding.severity is severity for finding in certain)
        hidden = severity is Severity.NOTE and not notes
        parts.append(f"{count(number, severity.value)}{' (hidden: --notes)' if hidden else ''}" if number else "")
    if doubtful:
        parts.append(f"{len(doubtful):,} possible{_hidden(doubtful, possible=possible, notes=notes)}")
    return ", ".join(filter(None, parts))


def is_shown(finding: Finding, *, possible: bool, notes: bool) -> bool:
    """What fails a check always is; the rest on request."""
    sure = possible or finding.certainty is Certainty.CERTAIN
    return sure and (notes or finding.severity is not Severity.NOTE)


def _hidden(doubtful: list[Finding], *, possible: bool, notes: bool) -> str:
    """Of the possible ones, those that are not shown, and the options that show them."""
    slight = sum(finding.severity is Severity.NOTE for finding in doubtful)
    options = [
        option for option, missing in (("--possible", not possible), ("--notes", slight and not notes)) if missing
    ]
    if not options:
        return ""
    number = "" if not possible or slight == len(doubtful) else f"{slight:,} "
    return f" ({number}hidden: {' '.join(options)})"


def count(number: int, what: str, several: str = "") -> str:
    return f"{number:,} {what if number == 1 else several or what + 's'}"
