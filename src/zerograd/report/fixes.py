"""Fixes for people: what they would change."""

from collections.abc import Iterator
from difflib import unified_diff

from zerograd.report.colour import Paint

_STYLE = {"+": "green", "-": "red", "@": "cyan"}


def diff(name: str, old: str, new: str, paint: Paint) -> Iterator[str]:
    """What changes, line by line; nothing where nothing does."""
    for line in unified_diff(_lines(old), _lines(new), name, name, lineterm=""):
        style = _STYLE.get(line[:1], "bold") if line[:3] not in ("+++", "---") else "bold"
        yield (line if line[:1] == " " else paint(line, style)) + "\n"


def _lines(text: str) -> list[str]:
    """The lines as they are, but for the ends of ordinary ones; a last line without an end is marked as git does."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]
