"""A small client of the Language Server Protocol: an editor's side of `zerograd server`, over its pipes."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

PATIENCE = 300  # seconds for one message, on a machine that does much else


class Client:
    """Started in `folder`. Messages that are waited for by no one are kept for whoever asks next."""

    def __init__(self, folder: Path, capabilities: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self._server = subprocess.Popen(
            [sys.executable, "-m", "zerograd", "server", "--stdio"],
            cwd=folder.anchor,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._told: Queue[dict[str, Any]] = Queue()
        self._kept: list[dict[str, Any]] = []
        self._sent = 0
        Thread(target=self._listen, daemon=True).start()
        params = {
            "processId": None,
            "rootUri": folder.as_uri(),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": "x"}],
        }
        self.server = self.ask("initialize", {**params, "capabilities": capabilities or {}})
        self.tell("initialized", {})

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self._server.kill()
        else:
            self.ask("shutdown", None)
            self.tell("exit", None)
        status = self._server.wait(PATIENCE)
        for pipe in (self._server.stdin, self._server.stdout):
            if pipe:
                pipe.close()
        assert error[0] is not None or status == 0

    @property
    def process(self) -> int:
        return self._server.pid

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def tell(self, method: str, params: object) -> None:
        self._send({"method": method, **({"params": params} if params is not None else {})})

    def ask(self, method: str, params: object) -> Any:
        self._sent += 1
        number = self._sent
        self._send({"id": number, "method": method, **({"params": params} if params is not None else {})})
        answer = self.wait(lambda message: message.get("id") == number and "method" not in message)
        assert "error" not in answer, answer
        return answer["result"]

    def wait(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for message in self._kept:
            if is_it(message):
                self._kept.remove(message)
                return message
        while not is_it(message := self._told.get(timeout=PATIENCE)):
            assert message.get("id") != 0, message["error"]
            self._kept.append(message)
        return message

    def open(self, name: str, text: str) -> list[dict[str, Any]]:
        """The diagnostics that follow."""
        item = {"uri": self.uri(name), "languageId": "python", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return self.diagnostics(self.uri(name), version=1)

    def change(self, name: str, text: str, *, version: int) -> list[dict[str, Any]]:
        self.type(name, text, version=version)
        return self.diagnostics(self.uri(name), version=version)

    def type(self, name: str, text: str, *, version: int) -> None:
        document = {"uri": self.uri(name), "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def diagnostics(self, uri: str, *, version: int | None = None) -> list[dict[str, Any]]:
        def is_it(message: dict[str, Any]) -> bool:
            params = message.get("params")
            published = message.get("method") == "textDocument/publishDiagnostics"
            return published and params["uri"] == uri and (version is None or params.get("version") == version)

        found: list[dict[str, Any]] = self.wait(is_it)["params"]["diagnostics"]
        return found

    def actions(self, uri: str, line: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Those for a whole line, from 0."""
        place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 999}}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        asked = {"textDocument": {"uri": uri}, "range": place, "context": context}
        return self.ask("textDocument/codeAction", asked) or []

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._server.stdin.flush()

    def _listen(self) -> None:
        assert self._server.stdout
        while head := self._server.stdout.readline():
            length = int(head.partition(b":")[2])
            while self._server.stdout.readline().strip():
                pass  # other headers
            self._told.put(json.loads(self._server.stdout.read(length)))
        self._told.put({"id": 0, "error": "the server has ended"})


def applied(text: str, edits: Sequence[dict[str, Any]]) -> str:
    """The text as an editor has it after the edits: columns count code units of UTF-16."""
    lines = text.split("\n")

    def offset(position: dict[str, int]) -> int:
        line = lines[position["line"]].encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le")
        return sum(len(one) + 1 for one in lines[: position["line"]]) + len(line)

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text
