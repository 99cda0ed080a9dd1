"""The page of a rule, over what it is found in, and over its code or its name in a comment that allows it."""

import re
from functools import cache

from lsprotocol.types import Hover, MarkupContent, MarkupKind, Position, Range

from zerograd.report.rules import as_page
from zerograd.rules import REGISTRY
from zerograd.server.diagnostics import range_of
from zerograd.server.judging import Judged
from zerograd.server.positions import Encoding, touches

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
    code = _named(judged.document.pages[number].lines, at)
    return Hover(MarkupContent(MarkupKind.Markdown, _page(code))) if code else None


def _named(lines: list[str], at: Position) -> str | None:
    """The rule that a word of a comment names. Comments that allow are ASCII up to there, or nearly always."""
    line = lines[at.line] if at.line < len(lines) else ""
    comment = _COMMENT.search(line)
    if comment is None:
        return None
    words = (word for word in _WORD.finditer(line, comment.end()) if word.start() <= at.character <= word.end())
    return next((code for word in words if (code := _NAMES.get(word[0]))), None)


@cache
def _page(code: str) -> str:
    return as_page(REGISTRY[code])
