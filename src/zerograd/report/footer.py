"""The closing line of a check, for people: what was found, and what was not shown."""

from collections.abc import Iterable
from typing import NamedTuple

from zerograd.core.findings import Finding, Safety
from zerograd.core.tally import count, is_shown, tally


class Rest(NamedTuple):
    """What a check has to say beside its findings."""

    files: int
    known: int = 0  # findings of the baseline
    gone: int = 0  # entries of the baseline that are not found any more
    unread: int = 0  # files that could not be read
    fixed: int = 0  # findings that are gone, since their fixes were applied


def footer(found: Iterable[Finding], rest: Rest, *, possible: bool, notes: bool) -> str:
    """`found`: everything, also what was not shown; `possible`, `notes`: whether those were."""
    everything = list(found)
    said = tally(everything, possible=possible, notes=notes) or "nothing found"
    parts = [f"{said}; {count(rest.files, 'file')} read"]
    if rest.fixed:
        parts.append(f"{rest.fixed} fixed")
    parts += _fixable([one for one in everything if is_shown(one, possible=possible, notes=notes)])
    if rest.known:
        parts.append(f"{rest.known} in the baseline")
    if rest.gone:
        entries = count(rest.gone, "entry", "entries")
        parts.append(f"{entries} of the baseline not found any more (--write-baseline removes them)")
    if rest.unread:
        parts.append(f"{count(rest.unread, 'file')} could not be read")
    return ", ".join(parts)


def _fixable(shown: list[Finding]) -> list[str]:
    fixes = [finding.fix.safety for finding in shown if finding.fix]
    safe, unsafe = fixes.count(Safety.SAFE), fixes.count(Safety.UNSAFE)
    parts = [f"{safe} fixable with --fix"] if safe else []
    if unsafe:
        parts.append(f"{unsafe} {'more ' if safe else ''}fixable with --fix --unsafe-fixes")
    return parts
