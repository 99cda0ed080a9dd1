"""The closing line of a check, for people: what was found, and what was not shown."""

from typing import NamedTuple

from zerograd.core.findings import Certainty, Finding, Safety


class Told(NamedTuple):
    """What a check has to say beside its findings."""

    files: int
    hidden: int = 0  # possible findings and notes that nobody asked for
    known: int = 0  # findings of the baseline
    gone: int = 0  # entries of the baseline that are not found any more
    unread: int = 0  # files that could not be read
    fixed: int = 0  # findings that are gone, since their fixes were applied


def footer(shown: list[Finding], told: Told) -> str:
    """What was found and what was not shown, in one line."""
    certain = sum(finding.certainty is Certainty.CERTAIN for finding in shown)
    parts = [f"{count(certain, 'finding')} in {count(told.files, 'file')}"]
    if len(shown) > certain:
        parts.append(f"{len(shown) - certain} possible")
    if told.fixed:
        parts.append(f"{told.fixed} fixed")
    parts += _fixable(shown)
    if told.hidden:
        parts.append(f"{told.hidden} hidden (--possible, --notes)")
    if told.known:
        parts.append(f"{told.known} known")
    if told.gone:
        parts.append(f"{told.gone} of the baseline gone (--write-baseline)")
    if told.unread:
        parts.append(f"{count(told.unread, 'file')} could not be read")
    return ", ".join(parts)


def _fixable(shown: list[Finding]) -> list[str]:
    fixes = [finding.fix.safety for finding in shown if finding.fix]
    safe, unsafe = fixes.count(Safety.SAFE), fixes.count(Safety.UNSAFE)
    parts = [f"{safe} fixable with --fix"] if safe else []
    if unsafe:
        parts.append(f"{unsafe} {'more ' if safe else ''}fixable with --fix --unsafe-fixes")
    return parts


def count(number: int, what: str, several: str = "") -> str:
    return f"{number} {what if number == 1 else several or what + 's'}"
