"""What an editor offers under its light bulb: a fix that was tried, all fixes at once, a comment that allows it.

Editors run `source.fixAll` on save, so that it holds only fixes that keep what is trained. All the others together
are a quick fix, and someone's choice.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeActionParams,
    OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from zerograd.core.findings import Finding, Safety
from zerograd.errors import SourceError
from zerograd.server.diagnostics import diagnostic, range_of
from zerograd.server.judging import Judged
from zerograd.server.positions import Encoding, touches
from zerograd.source.files.discover import NOTEBOOK
from zerograd.source.fixes.ignoring import with_ignores
from zerograd.source.fixes.mending import is_fixable
from zerograd.source.fixes.places import Change, Places
from zerograd.source.notebooks.layout import read_cells
from zerograd.source.text.lines import replaced
from zerograd.source.text.suppression import UNUSED

FIX_ALL = f"{CodeActionKind.SourceFixAll.value}.zerograd"
KINDS = (CodeActionKind.QuickFix, FIX_ALL)
Edits = dict[int, list[TextEdit]]  # by page


class Actions:
    """`versioned`: the editor takes edits that name the version of a text they are for."""

    def __init__(self, judged: Judged, encoding: Encoding, *, versioned: bool) -> None:
        self._judged = judged
        self._document = judged.document
        self._encoding = encoding
        self._versioned = versioned

    def offer(self, params: CodeActionParams) -> Iterator[CodeAction]:
        number = self._document.page(params.text_document.uri)
        if not self._judged.findings:
            return
        if _wants(params, CodeActionKind.QuickFix.value):
            here = [
                finding
                for finding in self._judged.fixable
                if finding.site.cell == number
                and touches(range_of(finding, self._document, self._encoding), params.range)
            ]
            yield from self._of_findings(here)
            if any(finding.fix and finding.fix.safety is Safety.UNSAFE for finding in here):
                yield from self._fix_all(unsafe=True)
        if _wants(params, FIX_ALL):
            yield from self._fix_all(unsafe=False)

    def _of_findings(self, findings: list[Finding]) -> Iterator[CodeAction]:
        for finding in findings:
            if finding.fix is not None:
                safe = finding.fix.safety is Safety.SAFE  # what an editor prefers, it makes without asking which
                changes = "" if safe else " (changes what is trained)"
                edits: Edits = {}
                for edit in finding.fix.edits:
                    place = self._encoding.range(self._document.pages[edit.cell].lines, edit)
                    edits.setdefault(edit.cell, []).append(TextEdit(place, edit.text))
                yield self._quick(finding, f"{finding.code}: {finding.fix.message}{changes}", edits, preferred=safe)
        for finding in findings:
            if finding.code != UNUSED and (allowing := self._allowing(finding)):
                yield self._quick(finding, f"{finding.code}: allow it here, with a comment", allowing)

    def _quick(self, finding: Finding, title: str, edits: Edits, *, preferred: bool = False) -> CodeAction:
        return CodeAction(
            title,
            CodeActionKind.QuickFix,
            diagnostics=[diagnostic(finding, self._document, self._encoding)],
            is_preferred=preferred or None,
            edit=self._edit(edits),
        )

    def _allowing(self, finding: Finding) -> Edits:
        text = self._document.pages[finding.site.cell].text
        alone = finding._replace(site=finding.site._replace(cell=0))
        try:
            changed = with_ignores(text, [alone], finding.site.path)
        except (SourceError, SyntaxError, ValueError):  # no comment is possible there, or not in that cell
            return {}
        return self._differences({finding.site.cell: replaced(text, changed)})

    def _fix_all(self, *, unsafe: bool) -> Iterator[CodeAction]:
        if sum(is_fixable(finding, unsafe=unsafe) for finding in self._judged.fixable) <= int(unsafe):
            return  # one alone has its own action
        mended = self._judged.mended(unsafe=unsafe)
        edits = self._differences(_texts(mended.text, self._document.path))
        if edits and unsafe:
            title = f"zerograd: make all {len(mended.fixed)} fixes of this file (changes what is trained)"
            yield CodeAction(title, CodeActionKind.QuickFix, edit=self._edit(edits))
        elif edits:
            yield CodeAction("zerograd: make all fixes that keep what is trained", FIX_ALL, edit=self._edit(edits))

    def _differences(self, texts: Mapping[int, str]) -> Edits:
        """What makes these texts, by page, out of those the editor has."""
        edits: Edits = {}
        for number, text in texts.items():
            page = self._document.pages[number]
            if text != page.text:
                place = Places(page.text).edit(difference(page.text, text))
                edits[number] = [TextEdit(self._encoding.range(page.lines, place), place.text)]
        return edits

    def _edit(self, edits: Mapping[int, list[TextEdit]]) -> WorkspaceEdit:
        pages = self._document.pages
        if not self._versioned:
            return WorkspaceEdit(changes={pages[number].uri: several for number, several in edits.items()})
        return WorkspaceEdit(
            document_changes=[
                TextDocumentEdit(
                    OptionalVersionedTextDocumentIdentifier(pages[number].uri, pages[number].version), [*several]
                )
                for number, several in edits.items()
            ]
        )


def difference(old: str, new: str) -> Change:
    """What stands between the beginning and the end that two texts share."""
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    return Change(start, len(old) - end, new[start : len(new) - end])


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in alike)


def _texts(text: str, path: str) -> dict[int, str]:
    """By page."""
    if not path.endswith(NOTEBOOK):
        return {0: text}
    return {cell.number: cell.source for cell in read_cells(text, path)}


def _wants(params: CodeActionParams, kind: str) -> bool:
    """`only` names kinds, or the beginnings of some: source, source.fixAll."""
    only = params.context.only
    return only is None or any(f"{kind}.".startswith(f"{_value(one)}.") for one in only)


def _value(kind: CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, CodeActionKind) else kind
