"""The lines behind the places that findings name, read once."""

from collections.abc import Mapping

from zerograd.errors import SourceError


class Documents:
    """Called with a `Site.document`. `given`: texts that no file holds, such as standard input."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self._given = given or {}
        self._known: dict[str, list[str] | None] = {}

    def __call__(self, document: str) -> list[str] | None:
        if document not in self._known:
            from zerograd.source.notebooks.layout import read_document
            from zerograd.source.text.lines import lines_of  # not before there is a finding

            try:
                self._known[document] = lines_of(self._given.get(document) or read_document(document))
            except SourceError:
                self._known[document] = None
        return self._known[document]
