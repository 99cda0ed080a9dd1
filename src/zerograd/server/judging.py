"""What is found in a document: as `zerograd check` finds it, under the config that is nearest to the file.

Findings come at once, for they are wanted with every change. Fixes have to be tried, each of them as much work as a
check, and are looked for when someone asks.
"""

import gc
import os
from functools import cached_property
from typing import NamedTuple

from zerograd.core.findings import Finding, once
from zerograd.report.baseline import sort_out
from zerograd.report.documents import Documents
from zerograd.server.documents import Document
from zerograd.source.files.config import Config, load_config
from zerograd.source.files.discover import NOTEBOOK
from zerograd.source.files.exclusion import Exclusion
from zerograd.source.fixes.mending import Mended, mend
from zerograd.source.notebooks.layout import read_cells
from zerograd.source.relevance import may_train
from zerograd.source.sweep import Reader, Settings
from zerograd.source.text.addressed import may_allow

_COLLECT = 40  # texts: the syntax trees of a long one are 2 MB
_TRIED = 10  # texts, or more, that are read to try fixes


class _Place(NamedTuple):
    """What counts in a folder."""

    config: Config
    exclusion: Exclusion


class Judge:
    """Knows configs and imported files until it is told to forget: one of them was saved."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._readers: dict[frozenset[str] | None, Reader] = {}
        self._read = 0

    def forget(self) -> None:
        self._places.clear()
        self._readers.clear()

    def tidy(self) -> None:
        """Clears away what texts leave behind, now that no one waits.

        A reader keeps every text it has read, since others may import it; and it has turned the collector off.
        """
        if self._read >= _COLLECT:
            self._read = 0
            self._readers.clear()
            gc.collect()

    def judge(self, document: Document) -> "Judged":
        """Raises SourceError while the text cannot be read, and UsageError if its config is broken."""
        place = self._place(document)
        excluded = os.path.exists(document.path) and place.exclusion.drops_named(document.path)
        if excluded or not (may_train(document.text) or may_allow(document.text)):
            return Judged(document, [], self)
        return Judged(document, self.find(document.text, document.path, place.config, fixes=False), self)

    def find(self, text: str, path: str, config: Config, *, fixes: bool) -> list[Finding]:
        """The findings of a text that are shown."""
        codes = config.codes()
        self._read += _TRIED if fixes else 1
        if codes not in self._readers:
            self._readers[codes] = Reader(Settings(codes))
        found, _ = self._readers[codes].judge(text, path, fixes=fixes)
        shown = [finding for finding in config.without_ignored(once(found)) if config.shows(finding)]
        if config.baseline:
            shown, _, _ = sort_out(shown, os.path.join(config.root, config.baseline), Documents(_texts(text, path)))
        return shown

    def config(self, document: Document) -> Config:
        return self._place(document).config

    def _place(self, document: Document) -> _Place:
        folder = os.path.dirname(document.path)
        if folder not in self._places:
            config = load_config(None, folder)
            patterns = (*config.exclude, *config.extend_exclude)
            self._places[folder] = _Place(config, Exclusion(patterns, root=config.root, git=config.respect_gitignore))
        return self._places[folder]


class Judged:
    """A document, what is found in it, and, once they are asked for, the fixes there are."""

    def __init__(self, document: Document, findings: list[Finding], judge: Judge) -> None:
        self.document = document
        self.findings = findings
        self._judge = judge

    @cached_property
    def fixable(self) -> list[Finding]:
        """The same findings, with the fixes there are."""
        return self._look(self.document.text) if self.findings else []

    def mended(self, *, unsafe: bool) -> Mended:
        """The text with all fixes made that agree with each other."""
        return mend(self.document.text, self.document.path, self._look, unsafe=unsafe)

    def _look(self, text: str) -> list[Finding]:
        return self._judge.find(text, self.document.path, self._judge.config(self.document), fixes=True)


def _texts(text: str, path: str) -> dict[str, str]:
    """By `Site.document`."""
    if not path.endswith(NOTEBOOK):
        return {path: text}
    return {f"{path}:cell {cell.number}": cell.source for cell in read_cells(text, path)}
