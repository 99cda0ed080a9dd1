"""The server: what an editor says and asks, and who answers."""

import os

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from zerograd import __version__
from zerograd.errors import SourceError, UsageError
from zerograd.server.actions import KINDS, Actions
from zerograd.server.diagnostics import NAME, diagnostic
from zerograd.server.documents import document_at
from zerograd.server.hovers import hover
from zerograd.server.judging import Judge, Judged
from zerograd.server.pace import Pace
from zerograd.server.positions import Encoding

_NOTEBOOKS = lsp.NotebookDocumentSyncOptions(
    notebook_selector=[
        lsp.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook", cells=[lsp.NotebookCellLanguage(language="python")]
        )
    ],
    save=True,
)
_WATCHED = ("**/pyproject.toml", "**/zerograd.toml", "**/.gitignore", "**/*.py")


class Service:
    """One editor's session."""

    def __init__(self) -> None:
        # Whole texts: pygls 2.1 workspace/text_document.py cuts lines at form feeds too, and would misplace a change.
        whole = lsp.TextDocumentSyncKind.Full
        self.server = LanguageServer(NAME, __version__, whole, _NOTEBOOKS)
        self._judge = Judge()
        self._opened: set[str] = set()  # documents
        self._judged: dict[str, Judged] = {}  # by document: the last text that could be read
        self._pace = Pace(self._publish)
        self._complaint = ""
        self._attend()

    def _attend(self) -> None:
        on = self.server.feature  # it leaves marks on functions, which bound methods do not take
        on(lsp.INITIALIZE)(lambda params: self._begin(params))
        on(lsp.INITIALIZED)(lambda params: self._watch(params))
        on(lsp.TEXT_DOCUMENT_DID_OPEN)(lambda params: self._open(params.text_document.uri))
        on(lsp.TEXT_DOCUMENT_DID_CHANGE)(lambda params: self._pace.touch(params.text_document.uri))
        on(lsp.TEXT_DOCUMENT_DID_CLOSE)(lambda params: self._close(params.text_document.uri))
        on(lsp.TEXT_DOCUMENT_DID_SAVE)(lambda params: self._look_again())
        on(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)(lambda params: self._open(params.notebook_document.uri))
        on(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)(lambda params: self._pace.touch(params.notebook_document.uri))
        on(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)(lambda params: self._close(params.notebook_document.uri))
        on(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)(lambda params: self._look_again())
        on(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(lambda params: self._look_again())
        on(lsp.TEXT_DOCUMENT_HOVER)(lambda params: self._hover(params))
        on(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[*KINDS]))(
            lambda params: self._actions(params)
        )

    def _begin(self, params: lsp.InitializeParams) -> None:
        """Into the folder that the editor has open: paths, configs and imports count from there."""
        folders = [folder.uri for folder in params.workspace_folders or ()]
        root = to_fs_path(next(iter(folders), params.root_uri or ""))
        if root and os.path.isdir(root):
            os.chdir(root)

    def _watch(self, params: lsp.InitializedParams) -> None:
        workspace = self.server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(glob) for glob in _WATCHED])
            wish = lsp.Registration("zerograd-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.server.client_register_capability(lsp.RegistrationParams([wish]))

    def _open(self, uri: str) -> None:
        self._opened.add(uri)
        self._publish(uri)

    def _look_again(self) -> None:
        """A file was saved: a config, or one that others import."""
        self._judge.forget()
        self._judged.clear()
        for uri in sorted(self._opened):
            self._pace.forget(uri)
            self._publish(uri)

    def _close(self, uri: str) -> None:
        self._opened.discard(uri)
        self._pace.forget(uri)
        judged = self._judged.pop(uri, None)
        for told in [page.uri for page in judged.document.pages.values()] if judged else [uri]:
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(told, []))

    def _publish(self, uri: str) -> None:
        judged = self._current(uri)
        if judged is None:
            return
        for number, page in judged.document.pages.items():
            diagnostics = [
                diagnostic(finding, judged.document, self._encoding)
                for finding in judged.findings
                if finding.site.cell == number
            ]
            self.server.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(page.uri, diagnostics, page.version)
            )
        self._judge.tidy()

    def _current(self, uri: str) -> Judged | None:
        """What is found in the text as it is now. None: it is not ours, or cannot be read.

        Nothing is published about a text that is half typed: the editor moves the findings it has along with it.
        """
        document = document_at(self.server.workspace, uri)
        if document is None:
            return None
        known = self._judged.get(document.uri)
        if known is not None and known.document == document:
            return known
        try:
            self._judged[document.uri] = self._judge.judge(document)
            self._complaint = ""
        except SourceError:
            return None
        except UsageError as error:  # of the config: said once
            self._complain(str(error))
            return None
        return self._judged[document.uri]

    def _complain(self, message: str) -> None:
        if message != self._complaint:
            self._complaint = message
            self.server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"{NAME}: {message}"))

    def _hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        judged = self._current(params.text_document.uri)
        number = judged.document.page(params.text_document.uri) if judged else None
        if judged is None or number is None:
            return None
        return hover(judged, number, params.position, self._encoding)

    def _actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        judged = self._current(params.text_document.uri)
        if judged is None:
            return []
        workspace = self.server.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace else None
        return list(Actions(judged, self._encoding, versioned=bool(edits and edits.document_changes)).offer(params))

    @property
    def _encoding(self) -> Encoding:
        return Encoding(self.server.workspace.position_encoding)
