"""The page of a rule, over what it is found in, and over its code or its name in a comment that allows it."""

import re
from functools import cache

from lsprotocol.types import Hover, MarkupContent, MarkupKind, Position, Range

from zerograd.core.events import Site
from zerograd.report.rules import as_page
from zerograd.rules import REGISTRY
from zerograd.server.diagnostics import range_of
from zerograd.server.judging import Judged
from zerograd.server.positions import Encoding, touches
from zerograd.source.text.lines import to_column

_COMMENT = re.compile(r"#.*(?:zerograd:\s*ignore|noqa)")
_WORD = re.compile(r"[\w-]+")
_NAMES = {word: rule.code for rule in REGISTRY.values() for word in (rule.code, rule.name)}


def hover(judged: Judged, number: int, at: Position, encoding: Encoding) -> Hover | None:
    """For a place on one of the document's pages."""
    here = Range(at, at)
    found = [
        (finding.code, place)
        for finding in judged.findings
        if finding.site.cell == number and touches(place := range_of(finding, judged.document, encoding), here)
    ]
    if found:
        told = "\n---\n\n".join(_page(code) for code in dict.fromkeys(code for code, _ in found))
        return Hover(MarkupContent(MarkupKind.Markdown, told), found[0][1])
    code = _named(judged.document.pages[number].lines, here, encoding)
    return Hover(MarkupContent(MarkupKind.Markdown, _page(code))) if code else None


def _named(lines: list[str], here: Range, encoding: Encoding) -> str | None:
    """The rule that a word of a comment names."""
    number = here.start.line + 1
    line = lines[number - 1] if number <= len(lines) else ""
    comment = _COMMENT.search(line)
    for word in _WORD.finditer(line, comment.end()) if comment else ():
        place = Site("", number, to_column(line, word.start()), number, to_column(line, word.end()))
        if word[0] in _NAMES and touches(encoding.range(lines, place), here):
            return _NAMES[word[0]]
    return None


@cache
def _page(code: str) -> str:
    return as_page(REGISTRY[code])
