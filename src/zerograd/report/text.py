"""Findings for people: one line each, or with the lines that led there, and the fix.

train.py:10:5: ZG001 optimizer.step() uses gradients left over from the previous step
   9 |     loss.backward()     adds to gradients that optimizer.step() has already used
  10 |     optimizer.step()    29% of this update is old
  fix: call optimizer.zero_grad() before line 9
"""

from collections.abc import Callable, Iterable

from zerograd.core.findings import Certainty, Finding, Safety, Severity
from zerograd.report.colour import Paint
from zerograd.report.excerpt import STYLE, excerpt, printable, wrapped

Source = Callable[[str], list[str] | None]  # the lines of a document (`Site.document`), if there are any


def concise(finding: Finding, paint: Paint) -> str:
    """Line 1 of every format: path:line:col: CODE message."""
    site = finding.site
    return f"{paint(printable(site.document), 'bold')}:{site.line}:{site.column}: {sentence(finding, paint)}"


def sentence(finding: Finding, paint: Paint) -> str:
    """CODE message."""
    doubt = paint(f" ({kind})", "dim") if (kind := kind_of(finding)) else ""
    return f"{paint(finding.code, STYLE[finding.severity], 'bold')} {printable(finding.message)}{doubt}"


def kind_of(finding: Finding) -> str:
    """What is said behind a finding that fails no check."""
    if finding.certainty is Certainty.POSSIBLE:
        return "possible"
    return "note" if finding.severity is Severity.NOTE else ""


def full(finding: Finding, source: Source, paint: Paint, *, seen: str = "") -> str:
    """`seen`: what a run has to add about its line: how often it happened."""
    lines = [*_headline(finding, paint), *excerpt(finding, source, paint, seen=seen)]
    if fix := fix_of(finding):
        first, *rest = wrapped(f"  fix: {printable(fix)}", paint.width, indent=7)
        lines += [f"  {paint('fix:', 'bold')}{first[6:]}", *rest]
    return "\n".join(lines)


def fix_of(finding: Finding) -> str:
    """What to type instead: the edit that zerograd itself can make, if there is one."""
    if not finding.fix:
        return finding.cure
    how = "--fix" if finding.fix.safety is Safety.SAFE else "--fix --unsafe-fixes"
    return f"{finding.fix.message} ({how})"


def _headline(finding: Finding, paint: Paint) -> list[str]:
    lines = wrapped(concise(finding, Paint(on=False)), paint.width, indent=4)
    if len(lines) == 1:
        return [concise(finding, paint)]
    where = printable(finding.site.document)
    painted = lines[0].replace(f" {finding.code} ", f" {paint(finding.code, STYLE[finding.severity], 'bold')} ", 1)
    return [painted.replace(where, paint(where, "bold"), 1), *lines[1:]]


def render_full(findings: Iterable[Finding], source: Source, paint: Paint) -> str:
    return "".join(full(finding, source, paint) + "\n\n" for finding in findings)


def render_concise(findings: Iterable[Finding], source: Source, paint: Paint) -> str:
    return "".join(concise(finding, paint) + "\n" for finding in findings)
