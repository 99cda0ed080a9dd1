"""The end of an audited run: what was found, what was counted, and what to type next."""

from collections.abc import Iterable

from zerograd.core.findings import Certainty, Finding, Severity
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
    """`counts`: the audit's own sentence about how much it saw, and `complete` whether that was everything.

    `who`: the tool, and the rank it speaks for.
    """
    everything = list(findings)
    shown = [finding for finding in everything if is_shown(finding, possible=possible, notes=notes)]
    lines = [f"{full(finding, source, paint)}\n  {_seen(finding, paint)}\n" for finding in shown]
    hidden = len(everything) - len(shown)
    sign = "red" if any(finding.fails for finding in everything) else "green" if complete else "yellow"
    more = f"; {hidden:,} hidden (--possible, --notes)" if hidden else ""
    lines.append(f"{paint(who, 'bold', sign)}: {counts}{more}")
    if trace:
        lines.append(f"trace: {trace} (zerograd report shows it)")
    if shown:
        lines.append(f"next: zerograd rule {shown[0].code}")
    return "\n".join(lines)


def is_shown(finding: Finding, *, possible: bool, notes: bool) -> bool:
    """What fails a strict run always is; the rest on request."""
    sure = possible or finding.certainty is Certainty.CERTAIN
    return sure and (notes or finding.severity is not Severity.NOTE)


def _seen(finding: Finding, paint: Paint) -> str:
    times = "once" if finding.times == 1 else f"{finding.times} times"
    return f"{paint('=', 'cyan')} seen {times}"
