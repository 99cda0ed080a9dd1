"""What the editor has open, as the checker reads it: a Python file, or a notebook with all of its cells.

A path is what `zerograd check` in the working directory would call it, so that the config, the baseline and the imports
mean the same here and there.
"""

import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from lsprotocol.types import NotebookCellKind, NotebookDocument
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import Workspace

from zerograd.source.files.discover import NOTEBOOK
from zerograd.source.text.lines import lines_of

_LANGUAGES = ("python", None, "")  # of a text; a notebook opened as JSON is none of ours


class Page(NamedTuple):
    """One text of the editor: a file, or a cell of a notebook."""

    uri: str
    text: str
    version: int | None = None

    @property
    def lines(self) -> list[str]:
        return lines_of(self.text)


class Document(NamedTuple):
    uri: str
    path: str
    text: str  # Python, or the JSON of a notebook
    pages: Mapping[int, Page]  # by number of the cell, as `Site` counts; 0: the file itself

    def page(self, uri: str) -> int | None:
        """The number of the page that the editor knows by this name."""
        return next((number for number, page in self.pages.items() if page.uri == uri), None)


def document_at(workspace: Workspace, uri: str) -> Document | None:
    """The document that a text belongs to: the text itself, or the notebook around a cell. None: nothing of ours."""
    notebook = workspace.get_notebook_document(cell_uri=uri) or workspace.get_notebook_document(notebook_uri=uri)
    if notebook is not None:
        return _notebook(workspace, notebook)
    text = workspace.get_text_document(uri)
    if text.language_id not in _LANGUAGES:
        return None
    page = Page(uri, text.source, text.version)
    return Document(uri, path_of(uri), text.source, {0: page})


def _notebook(workspace: Workspace, notebook: NotebookDocument) -> Document:
    """As JSON, which the checker reads anyway: cells keep their numbers, and what is no code stays in its place."""
    cells: list[dict[str, str]] = []
    pages: dict[int, Page] = {}
    for number, cell in enumerate(notebook.cells, start=1):
        text = workspace.get_text_document(cell.document)
        is_code = cell.kind == NotebookCellKind.Code and text.language_id in _LANGUAGES
        cells.append({"cell_type": "code" if is_code else "raw", "source": text.source if is_code else ""})
        if is_code:
            pages[number] = Page(cell.document, text.source, text.version)
    path = path_of(notebook.uri)
    path = path if path.endswith(NOTEBOOK) else path + NOTEBOOK  # one that was never saved
    return Document(notebook.uri, path, json.dumps({"cells": cells}), pages)


def path_of(uri: str) -> str:
    """From the working directory, if it is below; from the root, if not."""
    path = os.path.normpath(to_fs_path(uri) or uri.partition(":")[2] or uri)
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def uri_of(path: str) -> str:
    """Of a file on disk."""
    return from_fs_path(os.path.abspath(path)) or path
