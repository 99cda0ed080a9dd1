"""The lines of a finding, drawn: its own with a caret, its neighbours, and those that led there with their parts.

   |
10 |     loss.backward()     <- the gradient is deposited here
11 |     optimizer.step()
   |     ^^^^^^^^^^^^^^^^
"""

from collections.abc import Callable, Iterator

from zerograd.core.events import Site
from zerograd.core.findings import Finding, Related, Severity
from zerograd.report.colour import Paint
from zerograd.source.text.lines import to_character

STYLE = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
_CONTEXT = 1  # lines before and after
_FOLDED = 6  # lines of a finding that are drawn before the rest is left out
_TAB = 4
_WIDEST = 160  # columns of a line: generated ones have thousands


def printable(text: str) -> str:
    """Without what a terminal would obey or a reader not see."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in text)


def draw(finding: Finding, source: Callable[[str], list[str] | None], paint: Paint) -> Iterator[str]:
    site = finding.site
    text = source(site.document) or []
    elsewhere = [other for other in finding.related if other.site.document != site.document]
    numbers = _numbers(finding, text) if 0 < site.line <= len(text) else []
    margin = _Margin(len(str(max([*numbers, *(other.site.line for other in elsewhere)], default=0))), paint)
    if numbers:
        yield margin.blank()
        yield from _excerpt(finding, text, numbers, margin, paint)
        yield margin.blank()
    for other in elsewhere:
        yield from _beside(other, source(other.site.document) or [], margin, paint)


class _Margin:
    def __init__(self, width: int, paint: Paint) -> None:
        self._width = width
        self._paint = paint

    def blank(self, text: str = "") -> str:
        return f"  {' ' * self._width} {self._paint('|', 'cyan')} {text}".rstrip()

    def line(self, number: int, text: str) -> str:
        return f"  {self._paint(str(number).rjust(self._width), 'cyan')} {self._paint('|', 'cyan')} {text}".rstrip()

    def gap(self) -> str:
        return f"  {self._paint('.' * self._width, 'cyan')} {self._paint('|', 'cyan')}"

    def arrow(self, text: str) -> str:
        return f"  {' ' * self._width}{self._paint('-->', 'cyan')} {text}"


def _parts(finding: Finding) -> dict[int, str]:
    """What is said beside other lines of the finding's own document."""
    parts: dict[int, list[str]] = {}
    for other in finding.related:
        if other.site.document == finding.site.document and other.site.line != finding.site.line:
            parts.setdefault(other.site.line, []).append(other.message)
    return {line: printable("; ".join(messages)) for line, messages in parts.items()}


def _end(site: Site) -> int:
    return max(site.line, min(site.end_line, site.line + _FOLDED))


def _numbers(finding: Finding, text: list[str]) -> list[int]:
    """The lines to draw. Empty ones do not begin or end an excerpt."""
    site = finding.site
    kept = {*range(site.line, _end(site) + 1), *_parts(finding)}
    wanted = (kept | set(range(site.line - _CONTEXT, _end(site) + _CONTEXT + 1))) & set(range(1, len(text) + 1))
    return [number for number in sorted(wanted) if number in kept or text[number - 1].strip()]


def _excerpt(finding: Finding, text: list[str], numbers: list[int], margin: _Margin, paint: Paint) -> Iterator[str]:
    site, parts = finding.site, _parts(finding)
    aligned = max((_width(text[number - 1].rstrip()) for number in numbers if number in parts), default=0)
    last = numbers[0] - 1
    for number in numbers:
        if number > last + 1:
            yield margin.gap()
        last = number
        line = text[number - 1].rstrip()
        told = ""
        if number in parts:
            told = " " * (min(aligned, _WIDEST) - _width(line)) + paint(f"    <- {parts[number]}", "yellow")
        yield margin.line(number, _shown(line) + told)
        if site.line <= number <= _end(site):
            yield margin.blank(paint(_caret(site, number, line), STYLE[finding.severity], "bold"))


def _beside(other: Related, text: list[str], margin: _Margin, paint: Paint) -> Iterator[str]:
    """A part that was taken in another file: its place, and its line if there is one."""
    site = other.site
    yield margin.arrow(f"{printable(site.document)}:{site.line}:{site.column}: {printable(other.message)}")
    if 0 < site.line <= len(text):
        yield margin.line(site.line, _shown(text[site.line - 1].rstrip()))


def _caret(site: Site, number: int, line: str) -> str:
    """Under line `number` of a finding. The columns of a run are unknown: then all of the line is underlined."""
    indent = len(line) - len(line.lstrip())
    start = to_character(line, site.column) if site.end_column and number == site.line else indent
    end = to_character(line, site.end_column) if site.end_column and number == site.end_line else len(line)
    before = min(_width(line[:start]), _WIDEST)
    return " " * before + "^" * max(1, min(_width(line[:end]), _WIDEST) - before)


def _shown(line: str) -> str:
    line = printable(line).expandtabs(_TAB)
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]} ..."


def _width(line: str) -> int:
    """Columns of a terminal, in which some characters take two and some none."""
    line = line.expandtabs(_TAB)
    if line.isascii():
        return len(line)
    import unicodedata  # 1 MB of tables that few files need

    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line
    )
