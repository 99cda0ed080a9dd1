"""Findings for people: one line each, or with the source around them, the lines that led there, and the cure."""

from collections.abc import Callable, Iterable

from zerograd.core.findings import Certainty, Finding, Safety
from zerograd.report.colour import Paint
from zerograd.report.excerpt import STYLE, draw, printable

Source = Callable[[str], list[str] | None]  # the lines of a document (`Site.document`), if there are any


def concise(finding: Finding, paint: Paint) -> str:
    """Line 1 of every format: path:line:col: CODE message."""
    site = finding.site
    return f"{paint(printable(site.document), 'bold')}:{site.line}:{site.column}: {sentence(finding, paint)}"


def sentence(finding: Finding, paint: Paint) -> str:
    """CODE message."""
    doubt = paint(" (possible)", "dim") if finding.certainty is Certainty.POSSIBLE else ""
    return f"{paint(finding.code, STYLE[finding.severity], 'bold')} {printable(finding.message)}{doubt}"


def full(finding: Finding, source: Source, paint: Paint) -> str:
    lines = [concise(finding, paint), *draw(finding, source, paint)]
    if finding.cure:
        lines.append(f"  {paint('=', 'cyan')} {paint('cure:', 'bold')} {printable(finding.cure)}")
    if finding.fix:
        how = "--fix" if finding.fix.safety is Safety.SAFE else "--fix --unsafe-fixes"
        lines.append(f"  {paint('=', 'cyan')} {paint('fix:', 'bold')} {printable(finding.fix.message)} ({how})")
    return "\n".join(lines)


def render_full(findings: Iterable[Finding], source: Source, paint: Paint) -> str:
    return "".join(full(finding, source, paint) + "\n\n" for finding in findings)


def render_concise(findings: Iterable[Finding], source: Source, paint: Paint) -> str:
    return "".join(concise(finding, paint) + "\n" for finding in findings)
