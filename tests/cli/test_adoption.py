"""A repository that has findings and wants no more: comments, a baseline, files that are left out, counts."""

import ast
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from zerograd.cli import main
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule, Sees
from zerograd.source.check import check_text
from zerograd.source.fixes.ignoring import with_ignores
from zerograd.source.text.lines import replaced

BAD = REGISTRY["ZG001"].bad.replace("  # error: [ZG001]", "")
LATE = "\nimport os\n" + BAD
IN_FUNCTION = """\
import torch

class Trainer:
    def fit(self, loader, model, optimizer):
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROGRAD_OUTPUT_FORMAT", raising=False)
    Path("bad.py").write_text(BAD)


def test_add_ignore(capsys: pytest.CaptureFixture[str]) -> None:
    Path("fit.py").write_text(IN_FUNCTION)
    assert main(["check", "--add-ignore"]) == 0
    assert capsys.readouterr() == ("", "ignored 2 findings in 2 files\n")
    assert Path("bad.py").read_text() == BAD.replace(".step()", ".step()  # zerograd: ignore[ZG001]")
    assert main(["check"]) == 0
    before = Path("bad.py").read_bytes()
    assert main(["check", "--add-ignore"]) == 0
    assert Path("bad.py").read_bytes() == before


@pytest.mark.parametrize(
    ("head", "encoding", "end"),
    [("", "utf-8", "\r\n"), ("\ufeff", "utf-8", "\n"), ("# coding: latin-1\n# caf\u00e9\f\n", "latin-1", "\r\n")],
)
def test_add_ignore_keeps_every_other_byte(head: str, encoding: str, end: str) -> None:
    text = (head + BAD).replace("\n", end)
    Path("bad.py").write_bytes(text.encode(encoding))
    assert main(["check", "--add-ignore"]) == 0
    written = text.replace(".step()", ".step()  # zerograd: ignore[ZG001]")
    assert Path("bad.py").read_bytes() == written.encode(encoding)
    assert main(["check"]) == 0


@pytest.mark.parametrize(
    ("statement", "commented"),
    [
        ("optimizer.step()  # twice", "optimizer.step()  # twice  # zerograd: ignore[ZG001]"),
        ("optimizer.step()   ", "optimizer.step()  # zerograd: ignore[ZG001]"),
        ("optimizer.step(\n    )", "optimizer.step(\n    )  # zerograd: ignore[ZG001]"),
        ("optimizer.step \\\n        ()", "optimizer.step \\\n        ()  # zerograd: ignore[ZG001]"),
        (
            "optimizer.step()  # zerograd: ignore[ZG004] why",
            "optimizer.step()  # zerograd: ignore[ZG001, ZG004] why",
        ),
    ],
)
def test_where_the_comment_goes(statement: str, commented: str) -> None:
    Path("bad.py").write_text(BAD.replace("optimizer.step()", statement))
    assert main(["check", "--add-ignore", "--ignore", "ZG901"]) == 0
    assert Path("bad.py").read_text() == BAD.replace("optimizer.step()", commented)
    assert main(["check", "--ignore", "ZG901"]) == 0


@pytest.mark.parametrize(
    "rule", [rule for rule in REGISTRY.values() if Sees.SOURCE in rule.sees], ids=lambda one: one.code
)
def test_every_rule_can_be_allowed(rule: Rule) -> None:
    found = [finding for finding in check_text(rule.bad) if finding.code != "ZG901"]
    allowed = replaced(rule.bad, with_ignores(rule.bad, found, "bad.py"))
    assert ast.dump(ast.parse(allowed)) == ast.dump(ast.parse(rule.bad))
    assert [finding for finding in check_text(allowed) if finding.code != rule.code or rule.code != "ZG901"] == []


def test_add_ignore_in_a_notebook() -> None:
    source = "%matplotlib inline\n" + BAD
    cells = [{"cell_type": "markdown", "source": ["#"]}, {"cell_type": "code", "source": source.splitlines(True)}]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    Path("bad.py").unlink()
    Path("n.ipynb").write_text(text)
    assert main(["check", "--add-ignore"]) == 0
    assert Path("n.ipynb").read_text() == text.replace(".step()", ".step()  # zerograd: ignore[ZG001]")
    assert main(["check"]) == 0


def test_add_ignore_does_not_allow_comments_that_allow_nothing() -> None:
    text = BAD + "x = 1  # zerograd: ignore\n"
    Path("bad.py").write_text(text)
    assert main(["check", "--add-ignore"]) == 0
    assert Path("bad.py").read_text() == text.replace(".step()", ".step()  # zerograd: ignore[ZG001]")


def test_add_ignore_says_what_it_cannot_write(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert main(["check", "-", "--add-ignore"]) == 2
    assert "<stdin>: cannot be read" in capsys.readouterr().err


def test_a_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--baseline", "known.json", "--write-baseline"]) == 0
    assert capsys.readouterr() == ("", "wrote 1 finding into known.json\n")
    assert json.loads(Path("known.json").read_text()) == {
        "version": 1,
        "findings": [{"path": "bad.py", "code": "ZG001", "function": "", "text": "optimizer.step()", "count": 1}],
    }
    assert main(["check", "--baseline", "known.json"]) == 0
    assert capsys.readouterr() == ("", "nothing found; 1 file read, 1 in the baseline\n")
    Path("bad.py").write_text(LATE)  # the line has moved
    assert main(["check", "--baseline", "known.json"]) == 0
    Path("new.py").write_text(BAD)
    assert main(["check", "--baseline", "known.json"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("new.py:")
    assert "1 error; 2 files read, 1 fixable with --fix --unsafe-fixes, 1 in the baseline" in err


def test_a_baseline_counts_and_knows_functions(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.py").write_text(IN_FUNCTION)
    assert main(["check", "--baseline", "known.json", "--write-baseline"]) == 0
    (entry,) = json.loads(Path("known.json").read_text())["findings"]
    assert entry["function"] == "Trainer.fit"
    Path("bad.py").write_text(IN_FUNCTION + IN_FUNCTION.replace("Trainer", "Other").replace("import torch", ""))
    assert main(["check", "--baseline", "known.json", "-q"]) == 1
    assert capsys.readouterr().out.count("ZG001") == 1
    Path("bad.py").write_text("import torch\n")
    assert main(["check", "--baseline", "known.json"]) == 0
    assert "1 entry of the baseline not found any more" in capsys.readouterr().err


def test_a_check_of_some_files_leaves_the_entries_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.py").write_text(BAD)
    assert main(["check", "--baseline", "known.json", "--write-baseline"]) == 0
    Path("new.py").write_text("import torch\n")
    capsys.readouterr()
    assert main(["check", "new.py", "--baseline", "known.json"]) == 0
    assert capsys.readouterr().err == "nothing found; 1 file read\n"
    assert main(["check", "bad.py", "--baseline", "known.json", "--write-baseline"]) == 0
    assert capsys.readouterr().err == "wrote 1 finding into known.json, 1 of other files kept\n"
    assert main(["check", "--baseline", "known.json"]) == 0
    assert capsys.readouterr().err == "nothing found; 3 files read, 2 in the baseline\n"
    Path("other.py").unlink()  # what is not there any more is gone, whatever is read
    assert main(["check", "bad.py", "--baseline", "known.json"]) == 0
    assert capsys.readouterr().err == (
        "nothing found; 1 file read, 1 in the baseline, "
        "1 entry of the baseline not found any more (--write-baseline removes them)\n"
    )


def test_a_baseline_is_the_same_from_every_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text('[tool.zerograd]\nbaseline = "known.json"\n')
    Path("sub").mkdir()
    assert main(["check", "--write-baseline"]) == 0
    written = Path("known.json").read_text()
    monkeypatch.chdir("sub")
    assert main(["check", ".."]) == 0
    assert main(["check", "..", "--write-baseline"]) == 0
    assert Path("../known.json").read_text() == written
    capsys.readouterr()


def test_the_baseline_can_stand_in_the_config() -> None:
    Path("pyproject.toml").write_text('[tool.zerograd]\nbaseline = "known.json"\n')
    assert main(["check", "--write-baseline"]) == 0
    assert main(["check"]) == 0
    assert main(["check", "--isolated"]) == 1


def test_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    Path("fit.py").write_text(IN_FUNCTION + "x = 1  # zerograd: ignore\n")
    assert main(["check", "--statistics", "-q"]) == 1
    assert capsys.readouterr().out == "2  ZG001  stale-accumulation\n1  ZG901  unused-suppression\n"
    assert main(["check", "--statistics", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)[0] == {"code": "ZG001", "name": "stale-accumulation", "count": 2}


def test_per_file_ignores(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("tests/deep").mkdir(parents=True)
    Path("tests/deep/bad.py").write_text(BAD)
    Path("bad.py").unlink()
    Path("zerograd.toml").write_text('[per-file-ignores]\n"tests/*" = ["ZG0"]\n')
    assert main(["check"]) == 0
    monkeypatch.chdir("tests")
    assert main(["check"]) == 0
    Path("../zerograd.toml").write_text('per-file-ignores = { "bad.py" = ["ZG004"] }\n')
    assert main(["check"]) == 1


def test_exclusions_from_everywhere() -> None:
    Path("zerograd.toml").write_text('extend-exclude = ["bad.py"]\n')
    assert main(["check"]) == 0
    assert main(["check", "bad.py"]) == 1
    assert main(["check", "bad.py", "--force-exclude"]) == 0
    assert main(["check", "--exclude", "other.py"]) == 1
    Path("zerograd.toml").write_text('exclude = ["bad.py"]\nforce-exclude = true\n')
    assert main(["check", "bad.py"]) == 0
    Path("zerograd.toml").write_text("")
    assert main(["check", "--extend-exclude", "x.py, bad.py"]) == 0
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".gitignore").write_text("bad.py\n")
    assert main(["check"]) == 0
    assert main(["check", "--no-respect-gitignore"]) == 1


def test_standard_input_can_be_excluded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for options, status in (([], 1), (["--force-exclude"], 0)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
        arguments = ["check", "-", "--stdin-filename", "build/x.py", "-q", *options]
        assert main(arguments) == status
    assert "\n  11 |     optimizer.step()\n" in capsys.readouterr().out  # with its excerpt


def test_extend_select() -> None:
    Path("zerograd.toml").write_text('select = ["ZG1"]\n')
    assert main(["check"]) == 0
    assert main(["check", "--extend-select", "ZG001"]) == 1
    Path("zerograd.toml").write_text('select = ["ZG1"]\nextend-select = ["ZG001"]\n')
    assert main(["check"]) == 1
    assert main(["check", "--select", "ZG004", "--select", "ZG2,ZG3"]) == 0


def test_ruff_leaves_our_comments_alone(tmp_path: Path) -> None:
    """RUF100 and RUF102 take unknown codes out of noqa comments; what is not a noqa they do not know."""
    native = BAD.replace(".step()", ".step()  # zerograd: ignore[ZG001]")
    foreign = BAD.replace(".step()", ".step()  # noqa: ZG001")
    arguments = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "ALL", "--fix", "-q"]
    arguments += ["--unsafe-fixes", "--unfixable", "F401,I001,D,INP", "bad.py"]

    def fixed(text: str, *options: str) -> str:
        Path("bad.py").write_text(text)
        subprocess.run([*arguments, *options], capture_output=True, check=False)
        return Path("bad.py").read_text()

    assert "# zerograd: ignore[ZG001]" in fixed(native)
    assert "noqa" not in fixed(foreign)
    assert "# noqa: ZG001" in fixed(foreign, "--config", 'lint.external = ["ZG"]')
