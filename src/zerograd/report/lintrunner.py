"""Findings as lintrunner's messages, one JSON object a line: PyTorch's own way to run all its linters.

The names of the fields are lintrunner's LintMessage; what it does not get it wants to see as null.
"""

import json
from collections.abc import Iterable

from zerograd.core.findings import Finding, Severity
from zerograd.report.colour import Paint
from zerograd.report.text import Source, fix_of

_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "advice"}


def render(findings: Iterable[Finding], source: Source, paint: Paint) -> str:
    return "".join(json.dumps(_message(finding)) + "\n" for finding in findings)


def _message(finding: Finding) -> dict[str, object]:
    lines = [finding.message]
    lines += [f"{one.site.document}:{one.site.line}: {one.message}" for one in finding.related]
    lines += [f"fix: {fix}"] if (fix := fix_of(finding)) else []
    return {
        "path": finding.site.path,
        "line": None if finding.site.cell else finding.site.line,  # a notebook's lines are not its file's
        "char": None if finding.site.cell else finding.site.column,
        "code": "ZEROGRAD",  # of the linter: lintrunner skips and chooses by it
        "severity": _SEVERITIES[finding.severity] if finding.fails else "advice",
        "name": f"{finding.code} {finding.name}",
        "original": None,
        "replacement": None,
        "description": "\n".join(lines),
    }
