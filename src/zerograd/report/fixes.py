"""Fixes for people: what they would change, and how many there are."""

from collections.abc import Iterable, Iterator
from difflib import unified_diff

from zerograd.core.findings import Finding, Safety
from zerograd.report.colour import Paint

_STYLE = {"+": "green", "-": "red", "@": "cyan"}


def fixable(findings: Iterable[Finding], *, unsafe: bool) -> str:
    """The end of the closing line: how many findings each option would fix."""
    safety = [finding.fix.safety for finding in findings if finding.fix is not None]
    safe = len(safety) if unsafe else safety.count(Safety.SAFE)
    parts = [f", {safe} fixable with --fix{' --unsafe-fixes' * unsafe}"] if safe else []
    if len(safety) > safe:
        parts.append(f", {len(safety) - safe} fixable with --fix --unsafe-fixes")
    return "".join(parts)


def diff(name: str, old: str, new: str, paint: Paint) -> Iterator[str]:
    """What changes, line by line; nothing where nothing does."""
    for line in unified_diff(_lines(old), _lines(new), name, name, lineterm=""):
        style = _STYLE.get(line[:1], "bold") if line[:3] not in ("+++", "---") else "bold"
        yield (line if line[:1] == " " else paint(line, style)) + "\n"


def _lines(text: str) -> list[str]:
    """The lines as they are, but for the ends of ordinary ones; a last line without an end is marked as git does."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]
