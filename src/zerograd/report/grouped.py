"""Findings under the name of their file."""

from collections.abc import Iterable
from itertools import groupby

from zerograd.core.findings import Finding
from zerograd.report.colour import Paint
from zerograd.report.excerpt import printable
from zerograd.report.text import Source, sentence


def render(findings: Iterable[Finding], source: Source, paint: Paint) -> str:
    groups: list[str] = []
    for document, group in groupby(findings, lambda finding: finding.site.document):
        rows = [(f"{one.site.line}:{one.site.column}", sentence(one, paint)) for one in group]
        width = max(len(place) for place, _ in rows)
        lines = [f"  {paint(place.rjust(width), 'cyan')}  {told}" for place, told in rows]
        groups.append("\n".join([f"{paint(printable(document), 'bold')}:", *lines, "", ""]))
    return "".join(groups)
