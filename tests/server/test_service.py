"""`zerograd server` as an editor meets it: a process, and messages over its pipes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.client import Client, applied
from zerograd.rules import REGISTRY

BAD = REGISTRY["ZG001"].bad
CLEAN = REGISTRY["ZG001"].good
STEP = next(number for number, line in enumerate(BAD.splitlines()) if "ZG001" in line)


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One server for all: each test has files of its own."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "zerograd.toml").write_text('[per-file-ignores]\n"legacy/*" = ["ZG001"]\n')
    with Client(folder, {"workspace": {"workspaceEdit": {"documentChanges": True}}}) as client:
        yield client


def codes(diagnostics: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for one in diagnostics]


def edits(action: dict[str, Any], uri: str) -> list[dict[str, Any]]:
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"]["uri"] == uri
    found: list[dict[str, Any]] = change["edits"]
    return found


def titled(actions: list[dict[str, Any]], words: str) -> dict[str, Any]:
    (action,) = (action for action in actions if words in action["title"])
    return action


def test_a_finding_comes_and_goes_with_the_text(editor: Client) -> None:
    (found,) = editor.open("typed.py", BAD)
    assert found["code"] == "ZG001"
    assert found["source"] == "zerograd"
    assert found["severity"] == 1
    line = BAD.splitlines()[STEP]
    assert found["range"] == {
        "start": {"line": STEP, "character": line.index("optimizer")},
        "end": {"line": STEP, "character": line.index(")") + 1},
    }
    assert "\nfix: call optimizer.zero_grad()" in found["message"]
    (related,) = found["relatedInformation"]
    assert related["location"]["uri"] == editor.uri("typed.py")
    assert editor.change("typed.py", CLEAN, version=2) == []
    assert codes(editor.change("typed.py", BAD, version=3)) == ["ZG001"]
    editor.tell("textDocument/didClose", {"textDocument": {"uri": editor.uri("typed.py")}})
    assert editor.diagnostics(editor.uri("typed.py")) == []


def test_a_half_typed_line_takes_nothing_away(editor: Client) -> None:
    editor.open("half.py", BAD)
    editor.type("half.py", f"{BAD}\ndef (", version=2)
    assert codes(editor.change("half.py", f"{BAD}\n", version=3)) == ["ZG001"]  # and version 2 said nothing
    assert editor.actions(editor.uri("half.py"), STEP)


def test_of_a_burst_of_changes_the_last_is_judged(editor: Client) -> None:
    editor.open("burst.py", CLEAN)
    for version in range(2, 40):
        editor.type("burst.py", f"{BAD}# {version}\n", version=version)
    assert codes(editor.diagnostics(editor.uri("burst.py"), version=2)) == ["ZG001"]  # the first, at once
    assert codes(editor.diagnostics(editor.uri("burst.py"), version=39)) == ["ZG001"]


def test_the_page_of_a_rule_is_a_hover_away(editor: Client) -> None:
    editor.open("hovered.py", BAD.replace("# error: [ZG001]", "# zerograd: ignore[ZG004]"))
    document = {"uri": editor.uri("hovered.py")}
    line = BAD.splitlines()[STEP]

    def hover(character: int, number: int = STEP) -> Any:
        at = {"line": number, "character": character}
        return editor.ask("textDocument/hover", {"textDocument": document, "position": at})

    told = hover(line.index("optimizer") + 3)
    assert told["contents"]["kind"] == "markdown"
    assert told["contents"]["value"].startswith("# ZG001 stale-accumulation")
    assert told["range"]["start"]["line"] == STEP
    assert hover(0, 0) is None


def test_a_hover_explains_a_code_in_a_comment(editor: Client) -> None:
    text = BAD.replace(
        "    optimizer.step()  # error: [ZG001]", "    '\U0001f40d'; optimizer.step()  # zerograd: ignore[ZG001]"
    )
    assert editor.open("allowed.py", text) == []
    before = text.splitlines()[STEP].partition("ZG001")[0]
    at = {"line": STEP, "character": len(before.encode("utf-16-le")) // 2 + 5}  # its very end
    told = editor.ask("textDocument/hover", {"textDocument": {"uri": editor.uri("allowed.py")}, "position": at})
    assert told["contents"]["value"].startswith("# ZG001")


def test_a_quick_fix_makes_a_clean_file(editor: Client) -> None:
    # Two characters of UTF-16 and four bytes of UTF-8 stand before the place that is changed.
    text = BAD.replace("    optimizer.step()", "    '\U0001f40d'; optimizer.step()")
    (found,) = editor.open("fixed.py", text)
    assert found["range"]["start"]["character"] == len("    '??'; ")
    action = titled(editor.actions(editor.uri("fixed.py"), STEP), "at the top of the loop")
    assert action["kind"] == "quickfix"
    assert "isPreferred" not in action  # only what keeps the training is made without asking which
    assert action["title"] == "ZG001: call optimizer.zero_grad() at the top of the loop (changes what is trained)"
    assert codes(action["diagnostics"]) == ["ZG001"]
    fixed = applied(text, edits(action, editor.uri("fixed.py")))
    assert fixed.count("zero_grad") == text.count("zero_grad") + 1
    assert editor.change("fixed.py", fixed, version=2) == []
    assert editor.actions(editor.uri("fixed.py"), STEP) == []


def test_a_finding_is_allowed_with_a_comment(editor: Client) -> None:
    text = BAD.replace("  # error: [ZG001]", "")
    editor.open("comment.py", text)
    action = titled(editor.actions(editor.uri("comment.py"), STEP), "allow it here")
    allowed = applied(text, edits(action, editor.uri("comment.py")))
    assert allowed.splitlines()[STEP] == "    optimizer.step()  # zerograd: ignore[ZG001]"
    assert editor.change("comment.py", allowed, version=2) == []


def test_fix_all_keeps_what_is_trained(editor: Client) -> None:
    """On save nothing may change a training: a comment that allows nothing goes, the missing clear waits."""
    text = BAD + "\nx = 1  # zerograd: ignore[ZG004]\ny = 2  # zerograd: ignore[ZG003]\n"
    (editor.folder / "notes").mkdir(exist_ok=True)
    (editor.folder / "notes" / "zerograd.toml").write_text("notes = true\n")
    assert codes(editor.open("notes/all.py", text)) == ["ZG001", "ZG901", "ZG901"]
    uri = editor.uri("notes/all.py")
    assert [one.get("isPreferred") for one in editor.actions(uri, BAD.count("\n") + 1, ["quickfix"])] == [True]
    (action,) = editor.actions(uri, 0, ["source.fixAll"])
    assert action["kind"] == "source.fixAll.zerograd"
    mended = applied(text, edits(action, uri))
    assert mended == BAD + "\nx = 1\ny = 2\n"
    everything = titled(editor.actions(uri, STEP), "make all 3 fixes")
    assert everything["kind"] == "quickfix"
    assert editor.change("notes/all.py", applied(text, edits(everything, uri)), version=2) == []


def test_the_config_is_respected(editor: Client) -> None:
    (editor.folder / "legacy").mkdir()
    assert editor.open("legacy/old.py", BAD) == []
    (editor.folder / "venv").mkdir()
    (editor.folder / "venv" / "theirs.py").write_text(BAD)
    assert editor.open("venv/theirs.py", BAD) == []


def test_a_config_that_changes_is_read_again(editor: Client) -> None:
    (editor.folder / "late").mkdir()
    assert codes(editor.open("late/here.py", BAD)) == ["ZG001"]
    (editor.folder / "late" / "zerograd.toml").write_text("ignore = ['ZG0O1']\n")
    editor.tell("workspace/didChangeWatchedFiles", {"changes": []})
    told = editor.wait(lambda message: message.get("method") == "window/showMessage")["params"]
    assert told["type"] == 1
    assert "unknown rule 'ZG0O1'" in told["message"]
    (editor.folder / "late" / "zerograd.toml").write_text("ignore = ['ZG001']\n")
    editor.tell("textDocument/didSave", {"textDocument": {"uri": editor.uri("late/here.py")}})
    assert editor.diagnostics(editor.uri("late/here.py")) == []
    (editor.folder / "late" / "zerograd.toml").unlink()


def test_a_baseline_is_respected(editor: Client) -> None:
    folder = editor.folder / "adopted"
    folder.mkdir()
    (folder / "known.py").write_text(BAD)
    (folder / "zerograd.toml").write_text('baseline = "known.json"\n')
    write = ["check", "adopted/known.py", "--baseline", "adopted/known.json", "--write-baseline"]
    subprocess.run([sys.executable, "-m", "zerograd", *write], cwd=editor.folder, check=True, capture_output=True)
    assert editor.open("adopted/known.py", BAD) == []
    again = BAD.replace("for x, y", "for y, x")
    assert codes(editor.change("adopted/known.py", f"{BAD}\n{again}    optimizer.step()\n", version=2))


def test_a_file_that_was_never_saved(editor: Client) -> None:
    uri = "untitled:Untitled-1"
    item = {"uri": uri, "languageId": "python", "version": 1, "text": BAD}
    editor.tell("textDocument/didOpen", {"textDocument": item})
    assert codes(editor.diagnostics(uri)) == ["ZG001"]


def test_an_imported_file_counts_as_it_was_saved(editor: Client) -> None:
    helper = editor.folder / "clearing.py"
    helper.write_text("def reset(optimizer):\n    optimizer.zero_grad()\n")
    editor.tell("workspace/didChangeWatchedFiles", {"changes": []})
    text = "from clearing import reset\n" + BAD.replace("    loss.b", "    reset(optimizer)\n    loss.b")
    assert editor.open("split.py", text) == []
    helper.write_text("def reset(optimizer):\n    pass\n\ndef other(loss):\n    loss.backward()\n")
    editor.tell("textDocument/didSave", {"textDocument": {"uri": editor.uri("clearing.py")}})
    assert codes(editor.diagnostics(editor.uri("split.py"))) == ["ZG001"]


def test_windows_line_ends_stay(editor: Client) -> None:
    text = BAD.replace("\n", "\r\n")
    editor.open("windows.py", text)
    action = titled(editor.actions(editor.uri("windows.py"), STEP), "at the top of the loop")
    fixed = applied(text, edits(action, editor.uri("windows.py")))
    assert fixed.count("\r\n") == fixed.count("\n") == text.count("\n") + 1
    assert editor.change("windows.py", fixed, version=2) == []


def test_a_notebook_is_one_program(editor: Client) -> None:
    lines = BAD.splitlines(keepends=True)
    loop = next(number for number, line in enumerate(lines) if line.startswith("for"))
    cells = ["".join(lines[:loop]), "".join(lines[loop:])]
    names = [editor.uri("book.ipynb").replace("file:", "vscode-notebook-cell:") + f"#{n}" for n in range(3)]
    kinds = [(2, "python"), (1, "markdown"), (2, "python")]
    texts = [cells[0], "# A title", cells[1]]
    notebook = {
        "uri": editor.uri("book.ipynb"),
        "notebookType": "jupyter-notebook",
        "version": 1,
        "cells": [{"kind": kind, "document": name} for (kind, _), name in zip(kinds, names, strict=True)],
    }
    documents = [
        {"uri": name, "languageId": language, "version": 1, "text": text}
        for (_, language), name, text in zip(kinds, names, texts, strict=True)
    ]
    editor.tell("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": documents})
    assert editor.diagnostics(names[0]) == []
    (found,) = editor.diagnostics(names[2])
    line = found["range"]["start"]["line"]
    assert texts[2].splitlines()[line].startswith("    optimizer.step()")
    actions = editor.actions(names[2], line)
    allowed = applied(texts[2], edits(titled(actions, "allow it here"), names[2]))
    assert "# zerograd: ignore[ZG001]" in allowed
    fixed = applied(texts[2], edits(titled(actions, "at the top of the loop"), names[2]))
    change = {"document": {"uri": names[2], "version": 2}, "changes": [{"text": fixed}]}
    editor.tell(
        "notebookDocument/didChange",
        {
            "notebookDocument": {"uri": notebook["uri"], "version": 2},
            "change": {"cells": {"textContent": [change]}},
        },
    )
    assert editor.diagnostics(names[2], version=2) == []


def test_an_old_editor_gets_plain_edits(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        assert client.server["capabilities"]["positionEncoding"] == "utf-16"
        client.open("bad.py", BAD)
        (change,) = titled(client.actions(client.uri("bad.py"), STEP), "at the top")["edit"]["changes"].items()
        assert change[0] == client.uri("bad.py")
        assert "zero_grad" in applied(BAD, change[1])


def test_without_pygls_it_says_what_is_missing() -> None:
    code = "import sys; sys.modules['pygls'] = None\nfrom zerograd.cli import main\nsys.exit(main(['server']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "zerograd: zerograd server needs pygls\n  pip install pygls\n"
        "  See docs/errors.md#missing-extra (zerograd explain missing-extra)\n"
    )
