"""The end of an audited run: what was found, what was counted, and what to type next."""

from collections.abc import Iterable

from zerograd.core.findings import Finding
from zerograd.core.tally import is_shown
from zerograd.report.colour import Paint
from zerograd.report.text import Source, full


def summary(
    findings: Iterable[Finding],
    counts: str,
    *,
    complete: bool = True,
    source: Source,
    paint: Paint,
    who: str = "zerograd",
    possible: bool = False,
    notes: bool = False,
    trace: str = "",
) -> str:
    """`counts`: the audit's own closing line, and `complete` whether it saw everything.

    `who`: the tool, and the rank it speaks for.
    """
    everything = list(findings)
    shown = [finding for finding in everything if is_shown(finding, possible=possible, notes=notes)]
    lines = [f"{full(finding, source, paint, seen=_seen(finding))}\n" for finding in shown]
    sign = "red" if any(finding.fails for finding in everything) else "green" if complete else "yellow"
    lines.append(f"{paint(who, 'bold', sign)}: {counts}")
    if trace:
        lines.append(f"trace: {trace} (zerograd report shows it)")
    if shown:
        lines.append(f"next: zerograd rule {shown[0].code}")
    return "\n".join(lines)


def _seen(finding: Finding) -> str:
    return "" if finding.times == 1 else f"{finding.times:,} times"
