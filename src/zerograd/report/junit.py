"""Findings as JUnit's XML, which every CI can show: a suite for each file, a failed case for each finding."""

from collections.abc import Sequence
from itertools import groupby

from zerograd.core.findings import Finding
from zerograd.report.colour import Paint
from zerograd.report.text import Source, fix_of

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def render(findings: Sequence[Finding], source: Source, paint: Paint) -> str:
    suites = [
        line
        for path, group in groupby(findings, lambda finding: finding.site.path)
        for line in _suite(path, list(group))
    ]
    if not findings:  # a report without a case is taken for one that went wrong
        suites = ['  <testsuite name="zerograd" tests="1" failures="0">']
        suites += ['    <testcase name="no findings" classname="zerograd"/>', "  </testsuite>"]
    total = f'tests="{max(1, len(findings))}" failures="{sum(finding.fails for finding in findings)}"'
    head = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="zerograd" {total} errors="0">']
    return "\n".join([*head, *suites, "</testsuites>", ""])


def _suite(path: str, findings: list[Finding]) -> list[str]:
    failures = sum(finding.fails for finding in findings)
    head = f'  <testsuite name={_quoted(path)} package="zerograd" tests="{len(findings)}" failures="{failures}">'
    return [head, *(line for finding in findings for line in _case(finding)), "  </testsuite>"]


def _case(finding: Finding) -> list[str]:
    """What would not fail a check does not fail a case: it is told in its output."""
    site = finding.site
    name = f"{finding.code} {finding.name} ({f'cell {site.cell}, ' if site.cell else ''}line {site.line})"
    told = "\n".join([str(finding), *([f"fix: {fix}"] if (fix := fix_of(finding)) else [])])
    place = f'file={_quoted(site.path)} line="{site.line}"'
    failure = f"failure message={_quoted(finding.message)} type={_quoted(finding.severity.value)}"
    inside = f"<{failure}>{_escaped(told)}</failure>" if finding.fails else f"<system-out>{_escaped(told)}</system-out>"
    head = f"    <testcase name={_quoted(name)} classname={_quoted(site.path)} {place}>"
    return [head, f"      {inside}", "    </testcase>"]


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """XML has no way to write most control characters."""
    return "".join(_ENTITIES.get(one, one if _allowed(one) else "?") for one in text)


def _allowed(one: str) -> bool:
    return " " <= one <= "\ud7ff" or "\ue000" <= one <= "\ufffd" or one >= "\U00010000"
