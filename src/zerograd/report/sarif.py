"""Findings as SARIF 2.1.0, the exchange format of analysers: GitHub code scanning, Azure DevOps and editors read it.

Columns are UTF-16 code units, as `columnKind` says, so that every reader cuts a line at the same place. The rules that
fired travel with their whole page. A notebook's lines are not its file's: its findings name the cell, and stand at its
top, because GitHub shows nothing without a line.
"""

import json
import os
import re
from collections.abc import Sequence
from urllib.parse import quote

from zerograd import __version__
from zerograd.core.events import Site
from zerograd.core.findings import Finding, Fix, Related, Safety, Severity
from zerograd.report.colour import Paint
from zerograd.report.identity import fingerprints
from zerograd.report.rules import as_page, summary
from zerograd.report.text import Source
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule
from zerograd.source.text.lines import to_utf16

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_LINK = re.compile(r"\[(?=[^\]]*\]\()")  # opts[0](x) would be shown as a link to x
Json = dict[str, object]


def render(findings: Sequence[Finding], source: Source, paint: Paint) -> str:
    codes = sorted({finding.code for finding in findings})
    driver = {
        "name": "zerograd",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(REGISTRY[code]) for code in codes],
    }
    results = [
        _result(finding, codes.index(finding.code), fingerprint, source)
        for finding, fingerprint in zip(findings, fingerprints(findings, source), strict=True)
    ]
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> Json:
    page = as_page(rule)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": summary(rule)},
        "fullDescription": {"text": rule.explanation.strip()},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["correctness", "pytorch"], "precision": "high", "problem.severity": _problem(rule)},
    }


def _problem(rule: Rule) -> str:
    """GitHub's word for a severity."""
    return "recommendation" if rule.severity is Severity.NOTE else rule.severity.value


def _result(finding: Finding, index: int, fingerprint: str, source: Source) -> Json:
    result: Json = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity] if finding.fails else "note",
        "message": {"text": _sentence(finding)},
        "locations": [{"physicalLocation": _place(finding.site, source)}],
        "partialFingerprints": {"zerograd/v1": fingerprint},
        "properties": {"certainty": finding.certainty.value},
    }
    if finding.related:
        result["relatedLocations"] = [_related(n, other, source) for n, other in enumerate(finding.related, 1)]
    if finding.fix and not any(edit.cell for edit in finding.fix.edits):
        result["fixes"] = [_fix(finding.fix, finding.site, source)]
    return result


def _sentence(finding: Finding) -> str:
    cell = f"cell {finding.site.cell}, line {finding.site.line}: " if finding.site.cell else ""
    text = f"{cell}{finding.message}" + (f"; {finding.cure}" if finding.cure else "")
    return _LINK.sub(r"\\[", text)


def _related(number: int, other: Related, source: Source) -> Json:
    place = _place(other.site, source)
    return {"id": number, "physicalLocation": place, "message": {"text": other.message}}


def _place(site: Site, source: Source) -> Json:
    region: Json = {"startLine": 1}
    if not site.cell:
        region = _region(site.line, site.column, site.end_line, site.end_column, source(site.path) or [])
    return {"artifactLocation": {"uri": uri(site.path)}, "region": region}


def _region(line: int, column: int, end_line: int, end_column: int, lines: list[str]) -> Json:
    region: Json = {"startLine": line, "startColumn": _column(lines, line, column)}
    if end_line and end_column:
        region |= {"endLine": end_line, "endColumn": _column(lines, end_line, end_column)}
    return region


def _column(lines: list[str], line: int, column: int) -> int:
    return to_utf16(lines[line - 1], column) if 0 < line <= len(lines) else column


def _fix(fix: Fix, site: Site, source: Source) -> Json:
    lines = source(site.path) or []
    replacements = [
        {
            "deletedRegion": _region(edit.line, edit.column, edit.end_line, edit.end_column, lines),
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    unsafe = " (changes what is trained)" if fix.safety is Safety.UNSAFE else ""
    change = {"artifactLocation": {"uri": uri(site.path)}, "replacements": replacements}
    return {"description": {"text": f"{fix.message}{unsafe}"}, "artifactChanges": [change]}


def uri(path: str) -> str:
    """Relative to the root of the project, where the check is run; of an absolute path, a file's."""
    slashed = quote(path.replace(os.sep, "/"))
    if not os.path.isabs(path):
        return slashed
    return f"file://{slashed}" if slashed.startswith("/") else f"file:///{slashed}"
