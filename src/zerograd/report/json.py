"""Findings for programs. The field names are a contract: tests/surface freezes them."""

import json
from collections.abc import Sequence

from zerograd.core.findings import Finding, Fix
from zerograd.report.colour import Paint
from zerograd.report.text import Source


def as_object(finding: Finding) -> dict[str, object]:
    site = finding.site
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "path": site.path,
        "cell": site.cell or None,
        "line": site.line,
        "column": site.column,
        "end_line": site.end_line or site.line,
        "end_column": site.end_column or site.column,
        "certainty": finding.certainty.value,
        "severity": finding.severity.value,
        "cure": finding.cure,
        "fix": _fix(finding.fix) if finding.fix else None,
        "related": [
            {
                "path": other.site.path,
                "cell": other.site.cell or None,
                "line": other.site.line,
                "column": other.site.column,
                "message": other.message,
            }
            for other in finding.related
        ],
    }


def _fix(fix: Fix) -> dict[str, object]:
    edits = [edit._asdict() | {"cell": edit.cell or None} for edit in fix.edits]
    return {"message": fix.message, "safety": fix.safety.value, "edits": edits}


def render(findings: Sequence[Finding], source: Source, paint: Paint) -> str:
    return json.dumps([as_object(finding) for finding in findings], indent=2) + "\n"


def render_lines(findings: Sequence[Finding], source: Source, paint: Paint) -> str:
    return "".join(json.dumps(as_object(finding)) + "\n" for finding in findings)
