"""zerograd check as its users call it."""

import json
from pathlib import Path

import pytest

from zerograd.cli import main
from zerograd.rules import REGISTRY

BAD, GOOD = REGISTRY["ZG001"].bad, REGISTRY["ZG001"].good


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROGRAD_OUTPUT_FORMAT", raising=False)
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "bad.py").write_text(BAD)


def test_findings_exit_1_and_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("bad.py:11:5: ZG001 ")
    assert err == "1 error; 2 files read, 1 fixable with --fix --unsafe-fixes\n"


def test_clean_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.py"]) == 0
    assert capsys.readouterr().out == ""


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bad.py", "--output-format", "json"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    (finding,) = json.loads(out)
    assert (finding["path"], finding["line"], finding["column"], finding["end_column"]) == ("bad.py", 11, 5, 21)
    assert (finding["certainty"], finding["severity"], finding["fix"]["safety"]) == ("certain", "error", "unsafe")
    assert finding["related"] == [
        {
            "path": "bad.py",
            "cell": None,
            "line": 10,
            "column": 5,
            "message": "adds to gradients that optimizer.step() on line 11 has already used",
        }
    ]


def test_the_format_can_come_from_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEROGRAD_OUTPUT_FORMAT", "concise")
    assert main(["check", "bad.py"]) == 1
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("option", [["--ignore", "ZG001"], ["--select", "ZG002,ZG003"], ["--exit-zero"]])
def test_ways_to_exit_0(option: list[str]) -> None:
    assert main(["check", "bad.py", *option]) == 0


def test_an_output_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bad.py", "--output-file", "out.txt", "-q"]) == 1
    assert capsys.readouterr() == ("", "")
    assert "ZG001" in Path("out.txt").read_text()


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert main(["check", "-", "--stdin-filename", "editor.py"]) == 1
    assert capsys.readouterr().out.startswith("editor.py:11:5: ZG001")


def test_possible_findings_are_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    text = BAD.replace(
        "for x, y in loader:\n", "for x, y in loader:\n    if len(x) > 3:\n        optimizer.zero_grad()\n"
    )
    Path("maybe.py").write_text(text)
    assert main(["check", "maybe.py"]) == 0
    assert capsys.readouterr().err == "1 possible (hidden: --possible); 1 file read\n"
    assert main(["check", "maybe.py", "--possible"]) == 0
    assert "(possible)" in capsys.readouterr().out


def test_config_is_found_and_the_command_line_wins() -> None:
    Path("pyproject.toml").write_text('[tool.zerograd]\nignore = ["stale-accumulation"]\n')
    assert main(["check"]) == 0
    assert main(["check", "--isolated"]) == 1
    assert main(["check", "--ignore", "ZG004"]) == 1
    Path("zerograd.toml").write_text('exclude = ["bad.py"]\n')
    assert main(["check"]) == 0
    assert main(["check", "bad.py"]) == 1
    Path("other.toml").write_text('select = ["ZG003"]\n')
    assert main(["check", "bad.py", "--config", "other.toml"]) == 0


def test_one_unreadable_file_does_not_stop_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("import torch\noptimizer.step(loss.backward(\n")
    Path("latin.py").write_bytes(b"# caf\xe9\n")
    assert main(["check", "."]) == 1
    out, err = capsys.readouterr()
    assert "bad.py:11:5: ZG001" in out
    assert "zerograd: broken.py:2: not Python 3: '(' was never closed\n" in err
    assert "zerograd: latin.py: is not utf-8 text\n" in err
    assert err.endswith("1 error; 2 files read, 1 fixable with --fix --unsafe-fixes, 2 files could not be read\n")


def test_a_file_that_was_asked_for_must_be_readable() -> None:
    Path("broken.py").write_text("import torch\noptimizer.step(loss.backward(\n")
    assert main(["check", "good.py", "broken.py"]) == 2


def test_findings_are_remembered_here_unless_told_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--no-cache"]) == 1
    assert not Path(".zerograd_cache").exists()
    first = capsys.readouterr()
    for _ in range(2):
        assert main(["check"]) == 1
        assert capsys.readouterr() == first
    assert Path(".zerograd_cache").is_dir()
    assert main(["check", "--ignore", "ZG001"]) == 0


def test_files_nobody_wrote_get_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("large.py").write_text(BAD + "x = 1\n" * 100_000)
    Path("long.py").write_text(BAD + f"x = '{'a' * 100_000}'\n")
    assert main(["check", "."]) == 1
    err = capsys.readouterr().err
    assert "zerograd: large.py: is too large to be read: " in err
    assert "zerograd: long.py: has a line too long to be read: " in err

    assert "large.py: is too large to be read: 600,310" in err
    assert "characters, the limit is 500,000\n" in err
    assert "characters, the limit is 100,000\n" in err


def test_encodings() -> None:
    Path("bom.py").write_bytes(b"\xef\xbb\xbf" + BAD.encode())
    Path("cookie.py").write_bytes(b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + BAD.encode())
    Path("crlf.py").write_bytes(BAD.replace("\n", "\r\n").encode())
    for name in ("bom.py", "cookie.py", "crlf.py"):
        assert main(["check", name]) == 1
    Path("odd.py").write_bytes(b"# coding: undefined\n" + BAD.encode())
    assert main(["check", "odd.py"]) == 2


def test_paths_and_options_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.py").write_text(BAD)
    assert main(["check", "bad.py", "--possible", "other.py", "--jobs", "1", "good.py", "-q"]) == 1
    out, err = capsys.readouterr()
    assert (out.count(": ZG001 "), err) == (2, "")
    Path("-odd.py").write_text(BAD)
    assert main(["check", "--", "-odd.py"]) == 1


def test_a_folder_is_not_clean_if_a_file_that_trains_was_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("src").mkdir()
    Path("src/words.py").write_text("print 'no training here'\nx = (\n")
    assert main(["check", "src"]) == 0
    Path("src/train.py").write_text("import torch\nloss.backward()\noptimizer.step(\n")
    assert main(["check", "src"]) == 2
    assert capsys.readouterr().err.endswith("nothing found; 1 file read, 1 file could not be read\n")
    assert main(["check", ".", "--exit-zero"]) == 2


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("kept", [0.2, 0.9])
def test_a_notebook_that_was_cut_off_is_an_error(
    kept: float, indent: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [{"cell_type": "code", "source": text, "outputs": []} for text in ("import torch\n" * 20, BAD)]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=indent)
    Path("notebooks").mkdir()
    Path("notebooks/cut.ipynb").write_text(text[: int(len(text) * kept)])
    for path in ("notebooks", "notebooks/cut.ipynb"):
        assert main(["check", path]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("zerograd: notebooks/cut.ipynb: is not a notebook: ")
        assert err.endswith("nothing found; 0 files read, 1 file could not be read\n")
    Path("notebooks/cut.ipynb").write_text(
        text.replace("backward", "forward").replace("zero_grad", "").replace("step", "stop")
    )
    assert main(["check", "notebooks"]) == 0


def test_the_cache_lies_at_the_root_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text("")
    for folder, text in (("one", BAD), ("two/deep", GOOD)):
        Path(folder).mkdir(parents=True)
        Path(folder, "train.py").write_text("from model import loss\n" + text)
    root = Path.cwd()
    for folder, status in (("one", 1), ("two/deep", 0)):
        monkeypatch.chdir(root / folder)
        assert main(["check", "--no-cache"]) == status
        assert not list(root.rglob(".zerograd_cache"))
    for folder, status in (("one", 1), ("two/deep", 0)) * 2:
        monkeypatch.chdir(root / folder)
        assert main(["check"]) == status
    assert [path.parent for path in root.rglob(".zerograd_cache")] == [root]


def test_a_config_file_of_ours_has_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("zerograd.toml").write_text("[tool.zerograd]\nnotes = true\n")
    assert main(["check"]) == 2
    assert "In zerograd.toml they stand at the top, without [tool.zerograd]: notes = true." in capsys.readouterr().err
    Path("zerograd.toml").write_text("notes = true\n")
    assert main(["check", "good.py"]) == 0


def test_words_of_a_finding_are_strings() -> None:
    import zerograd

    (finding,) = zerograd.check(BAD)
    assert finding.certainty == "certain"
    assert finding.severity == "error"
    assert f"{finding.certainty} {finding.severity}" == "certain error"
