"""Findings as diagnostics: a squiggle where it happens, what is wrong, what cures it, and the lines that led there."""

from lsprotocol.types import (
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
    Range,
)

from zerograd.core.findings import Finding, Related, Severity
from zerograd.errors import SourceError
from zerograd.server.documents import Document, Page, uri_of
from zerograd.server.positions import Encoding
from zerograd.source.files.discover import read_text
from zerograd.source.text.suppression import UNUSED

NAME = "zerograd"
_SEVERITIES = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.NOTE: DiagnosticSeverity.Information,
}


def diagnostic(finding: Finding, document: Document, encoding: Encoding) -> Diagnostic:
    return Diagnostic(
        range=range_of(finding, document, encoding),
        message="\n".join([finding.message, *([f"fix: {finding.cure}"] if finding.cure else [])]),
        # What a branch may excuse is said more softly, as in the pull requests of GitHub.
        severity=_SEVERITIES[finding.severity] if finding.fails else DiagnosticSeverity.Information,
        code=finding.code,
        source=NAME,
        tags=[DiagnosticTag.Unnecessary] if finding.code == UNUSED else None,
        related_information=[_related(one, document, encoding) for one in finding.related] or None,
    )


def range_of(finding: Finding, document: Document, encoding: Encoding) -> Range:
    return encoding.range(document.pages[finding.site.cell].lines, finding.site)


def _related(related: Related, document: Document, encoding: Encoding) -> DiagnosticRelatedInformation:
    page = _page(related, document)
    return DiagnosticRelatedInformation(Location(page.uri, encoding.range(page.lines, related.site)), related.message)


def _page(related: Related, document: Document) -> Page:
    """The text that a place is in, which may be a file that is imported."""
    if related.site.path == document.path:
        return document.pages[related.site.cell]
    try:
        text = read_text(related.site.path)
    except SourceError:  # gone since it was read
        text = ""
    return Page(uri_of(related.site.path), text)
