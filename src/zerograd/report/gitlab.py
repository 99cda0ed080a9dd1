"""Findings as GitLab's code quality report (a subset of Code Climate's): shown beside the lines of a merge request."""

import json
from collections.abc import Sequence

from zerograd.core.findings import Finding, Severity
from zerograd.report.colour import Paint
from zerograd.report.identity import fingerprints
from zerograd.report.text import Source

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render(findings: Sequence[Finding], source: Source, paint: Paint) -> str:
    issues = [
        {
            "description": f"{finding.code}: {finding.message}",
            "check_name": finding.code,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.severity] if finding.fails else "info",
            "location": {"path": finding.site.path, "lines": _lines(finding)},
        }
        for finding, fingerprint in zip(findings, fingerprints(findings, source), strict=True)
    ]
    return json.dumps(issues, indent=2) + "\n"


def _lines(finding: Finding) -> dict[str, int]:
    """A notebook's lines are not its file's: its findings stand at the top."""
    site = finding.site
    return {"begin": 1, "end": 1} if site.cell else {"begin": site.line, "end": site.end_line or site.line}
