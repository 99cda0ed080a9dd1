"""The findings of a notebook, each in its cell, with fixes that are edits of cells."""

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from zerograd.core.findings import Finding, Fix, Related
from zerograd.source.notebooks.layout import read_cells
from zerograd.source.notebooks.program import Joined, join

_LINE = re.compile(r"\bon line (\d+)")


class Judged(NamedTuple):
    findings: list[Finding]
    troubles: tuple[str, ...]  # one line for each cell that is left out


def judge_notebook(text: str, path: str, judge: Callable[[str], list[Finding]]) -> Judged:
    """`judge` finds what is wrong with a program. Raises SourceError if the text is no notebook."""
    joined = join(read_cells(text, path))
    found = judge(joined.text) if joined.parts else []
    there = os.path.normpath(path)
    findings = [one for one in found if os.path.normpath(one.site.path) != there]  # in files that it imports
    here = (one for one in found if os.path.normpath(one.site.path) == there)
    findings += [_in_cell(one, joined) for one in here if one.site.line not in joined.changed]
    return Judged(findings, tuple(f"{path}: {trouble}" for trouble in joined.troubles))


def _in_cell(finding: Finding, joined: Joined) -> Finding:
    path = finding.site.path
    here = joined.site(finding.site)

    def named(found: re.Match[str]) -> str:
        there = joined.site(finding.site._replace(line=int(found[1]), end_line=int(found[1])))
        return f"on line {there.line}" + (f" of cell {there.cell}" if there.cell != here.cell else "")

    related = tuple(
        Related(joined.site(other.site) if other.site.path == path else other.site, _LINE.sub(named, other.message))
        for other in finding.related
    )
    fix = _fix(finding.fix, joined) if finding.fix is not None else None
    message, cure = _LINE.sub(named, finding.message), _LINE.sub(named, finding.cure)
    return finding._replace(message=message, cure=cure, site=here, related=related, fix=fix)


def _fix(fix: Fix, joined: Joined) -> Fix | None:
    edits = [joined.edit(edit) for edit in fix.edits]
    known = tuple(edit for edit in edits if edit is not None)
    return fix._replace(edits=known) if len(known) == len(edits) else None
