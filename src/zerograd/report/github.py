"""Findings as GitHub's workflow commands: a log line that becomes an annotation of the pull request.

A command ends at the line's end, its properties at :: and each of them at a comma, so that these are escaped.
"""

from collections.abc import Iterable

from zerograd.core.findings import Finding, Severity
from zerograd.report.colour import Paint
from zerograd.report.text import Source, fix_of
from zerograd.source.text.lines import to_utf16

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(findings: Iterable[Finding], source: Source, paint: Paint) -> str:
    return "".join(f"{_command(finding, source)}\n" for finding in findings)


def _command(finding: Finding, source: Source) -> str:
    command = _COMMANDS[finding.severity] if finding.fails else "notice"
    properties = {"title": f"zerograd ({finding.code})", **_place(finding, source)}
    told = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{command} {told}::{_data(_message(finding))}"


def _message(finding: Finding) -> str:
    lines = [str(finding)]
    lines += [f"{one.site.document}:{one.site.line}:{one.site.column}: {one.message}" for one in finding.related]
    lines += [f"fix: {fix}"] if (fix := fix_of(finding)) else []
    return "\n".join(lines)


def _place(finding: Finding, source: Source) -> dict[str, object]:
    """GitHub shows the lines of files, and columns only within one line. A notebook's lines are not its file's."""
    site = finding.site
    if site.cell:
        return {"file": site.path}
    end = site.end_line or site.line
    place: dict[str, object] = {"file": site.path, "line": site.line, "endLine": end}
    if end == site.line and site.end_column:
        lines = source(site.path) or []
        line = lines[site.line - 1] if 0 < site.line <= len(lines) else ""
        columns = [to_utf16(line, column) if line else column for column in (site.column, site.end_column)]
        place |= {"col": columns[0], "endColumn": columns[1]}
    return place


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
