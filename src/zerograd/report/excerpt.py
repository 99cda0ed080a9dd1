"""The lines of a finding: its own and those that led there, and beside each what it does.

 9 |     loss.backward()     adds to gradients that optimizer.step() has already used
10 |     optimizer.step()    29% of this update is old
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.core.findings import Finding, Severity
from zerograd.report.colour import Paint

STYLE = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
_BESIDE = 2  # lines other than its own: a finding is to be read at a glance
_INDENT = 4  # columns that the outermost line keeps
_TAB = 4
_WIDEST = 160  # columns of a line: generated ones have thousands
_ROOM = 24  # columns that a remark needs beside its line; with less it goes below
_GAP = 4


class Row(NamedTuple):
    """A line of the program, and what is said of it."""

    place: str  # its number, behind its file where that is another
    is_here: bool  # in the document of the finding
    text: str
    remark: str
    own: bool  # the line that the finding stands at


def printable(text: str) -> str:
    """Without what a terminal would obey or a reader not see."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in text)


def wrapped(text: str, width: int, *, indent: int) -> list[str]:
    """The text in lines of at most `width` columns, broken between words. Width 0: one line."""
    if not width or _columns(text) <= width:
        return [text]
    lead = len(text) - len(text.lstrip())
    lines, line = [], " " * lead
    for word in text.split():
        if line.strip() and _columns(line) + 1 + _columns(word) > width:
            lines.append(line)
            line = " " * indent
        line += word if not line.strip() else f" {word}"
    return [*lines, line]


def excerpt(
    finding: Finding, source: Callable[[str], list[str] | None], paint: Paint, *, seen: str = ""
) -> Iterator[str]:
    rows = list(_rows(finding, source, seen))
    margin = max((len(row.place) for row in rows if row.is_here), default=0)
    texts = _dedented(rows)
    beside_own = [_columns(_shown(text)) for text, row in zip(texts, rows, strict=True) if row.remark and row.is_here]
    for row, text in zip(rows, texts, strict=True):
        aligned = max(beside_own) if row.remark and row.is_here else _columns(_shown(text))
        place = paint(row.place.rjust(margin), "cyan")
        bar = paint("|", "cyan")
        shown = paint(_shown(text), "bold") if row.own and len(rows) > 1 else _shown(text)
        start = f"  {place} {bar} {shown}"
        beside = 2 + max(margin, len(row.place)) + 3 + aligned + _GAP
        if not row.remark:
            yield start.rstrip()
        elif not paint.width or beside + _ROOM <= paint.width:
            first, *rest = wrapped(row.remark, paint.width - beside if paint.width else 0, indent=0)
            yield f"{start}{' ' * (aligned + _GAP - _columns(_shown(text)))}{paint(first, 'yellow')}"
            for more in rest:
                yield f"  {' ' * max(margin, len(row.place))} {bar} {' ' * (aligned + _GAP)}{paint(more, 'yellow')}"
        else:
            yield start.rstrip()
            below = " " * (len(text) - len(text.lstrip()) + 2)
            for more in wrapped(row.remark, paint.width - margin - 5 - len(below), indent=0):
                yield f"  {' ' * margin} {bar} {below}{paint(more, 'yellow')}"


def _rows(finding: Finding, source: Callable[[str], list[str] | None], seen: str) -> Iterator[Row]:
    """In the order of the document; of other files behind it. Without its text a place is named all the same."""
    site = finding.site
    remarks: dict[Site, list[str]] = {}
    for other in finding.related:
        place = Site(other.site.path, other.site.line, cell=other.site.cell)
        if other.message not in remarks.setdefault(place, []):
            remarks[place].append(other.message)
    own = Site(site.path, site.line, cell=site.cell)
    said = [*remarks.pop(own, []), *([seen] if seen else [])]
    beside = _chosen(remarks)
    here = [own, *(place for place in beside if place.document == site.document)]
    for place in [*sorted(here), *(place for place in beside if place.document != site.document)]:
        text = source(place.document) or []
        line = text[place.line - 1].rstrip() if 0 < place.line <= len(text) else ""
        remark = printable("; ".join(said if place == own else remarks[place]))
        here_too = place.document == site.document
        name = str(place.line) if here_too else f"{printable(place.document)}:{place.line}"
        if line or (remark and place.line):
            code = line.expandtabs(_TAB) if here_too else line.strip()
            yield Row(name, here_too, code, remark, own=place == own)


def _chosen(remarks: dict[Site, list[str]]) -> list[Site]:
    """The few lines that say most: what makes it only possible, then one of each kind, then more of the same."""
    unlike: dict[tuple[str, ...], Site] = {}
    for place, said in remarks.items():
        unlike.setdefault(tuple(said), place)
    first = sorted(unlike.values(), key=lambda place: not remarks[place][0].startswith("only possible"))
    return [*first, *(place for place in remarks if place not in first)][:_BESIDE]


def _dedented(rows: list[Row]) -> list[str]:
    """All of the finding's own document moved to the left alike, until the outermost is where one looks for it."""
    indents = [len(row.text) - len(row.text.lstrip()) for row in rows if row.is_here and row.text.strip()]
    spare = max(0, min(indents, default=0) - _INDENT)
    return [row.text[spare:] if row.is_here else row.text for row in rows]


def _shown(line: str) -> str:
    line = printable(line).expandtabs(_TAB)
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]} ..."


def _columns(line: str) -> int:
    """Columns of a terminal, in which some characters take two and some none."""
    line = line.expandtabs(_TAB)
    if line.isascii():
        return len(line)
    import unicodedata  # 1 MB of tables that few files need

    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line
    )
