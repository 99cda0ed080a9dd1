"""Findings for people: one line each, or with the source around them, a caret, and the lines that led there."""

from collections.abc import Callable, Iterator

from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.report.colour import Paint

Source = Callable[[str], list[str] | None]  # the lines of a document (`Site.document`), if there are any
_STYLE = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
_CONTEXT = 1


def concise(finding: Finding, paint: Paint) -> str:
    """Line 1 of every format: path:line:col: CODE message."""
    site = finding.site
    place = f"{paint(site.document, 'bold')}:{site.line}:{site.column}:"
    doubt = paint(" (possible)", "dim") if finding.certainty is Certainty.POSSIBLE else ""
    return f"{place} {paint(finding.code, _STYLE[finding.severity], 'bold')} {finding.message}{doubt}"


def full(finding: Finding, source: Source, paint: Paint) -> str:
    lines = [concise(finding, paint)]
    text = source(finding.site.document)
    if text and 0 < finding.site.line <= len(text):
        lines += _excerpt(finding, text, paint)
    if finding.cure:
        lines.append(f"  {paint('=', 'cyan')} {paint('cure:', 'bold')} {finding.cure}")
    return "\n".join(lines)


def _excerpt(finding: Finding, text: list[str], paint: Paint) -> Iterator[str]:
    """The finding's line with a caret, its neighbours, and every related line of the same file."""
    site = finding.site
    parts = {other.site.line: other.message for other in finding.related if other.site.document == site.document}
    wanted = sorted({*range(site.line - _CONTEXT, site.line + _CONTEXT + 1), *parts} & set(range(1, len(text) + 1)))
    width = len(str(wanted[-1]))
    bar = paint("|", "cyan")
    yield f"  {' ' * width} {bar}"
    last = wanted[0] - 1
    for number in wanted:
        if number > last + 1:
            yield f"  {paint('.' * width, 'cyan')} {bar}"
        last = number
        line = text[number - 1].rstrip().expandtabs(4)
        told = paint(f"    <- {parts[number]}", "yellow") if number in parts and number != site.line else ""
        yield f"  {paint(str(number).rjust(width), 'cyan')} {bar} {line}{told}"
        if number == site.line:
            yield f"  {' ' * width} {bar} {paint(_caret(finding, text[number - 1]), _STYLE[finding.severity], 'bold')}"
    yield f"  {' ' * width} {bar}"


def _caret(finding: Finding, line: str) -> str:
    """The columns of a run are unknown: then the whole statement is underlined."""
    site = finding.site
    start = site.column - 1 if site.end_column else len(line) - len(line.lstrip())
    end = site.end_column - 1 if site.end_column and site.end_line == site.line else len(line.rstrip())
    before = len(line[:start].expandtabs(4))
    return " " * before + "^" * max(1, len(line[:end].expandtabs(4)) - before)


def footer(shown: list[Finding], hidden: int, files: int, unread: int) -> str:
    """What was found and what was not shown, in one line."""
    certain = sum(finding.certainty is Certainty.CERTAIN for finding in shown)
    parts = [f"{certain} finding{'s' * (certain != 1)} in {files} file{'s' * (files != 1)}"]
    if len(shown) > certain:
        parts.append(f"{len(shown) - certain} possible")
    if hidden:
        parts.append(f"{hidden} hidden (--possible, --notes)")
    if unread:
        parts.append(f"{unread} file{'s' * (unread != 1)} could not be read")
    return ", ".join(parts)
