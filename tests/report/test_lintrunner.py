"""lintrunner's messages, and lintrunner itself where it is installed (its wheel is no Python)."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from report.samples import ALL, DOCUMENTS
from zerograd.cli import main
from zerograd.report.colour import Paint
from zerograd.report.lintrunner import render
from zerograd.rules import REGISTRY

CI = (Path(__file__).parents[2] / "docs" / "ci.md").read_text()
FIELDS = "path line char code severity name original replacement description"  # of its LintMessage


def test_a_message_for_each_finding() -> None:
    lines = render(ALL, DOCUMENTS.get, Paint(on=False)).splitlines()
    messages = [json.loads(line) for line in lines]
    assert [" ".join(message) for message in messages] == [FIELDS] * len(ALL)
    assert {message["severity"] for message in messages} <= {"error", "warning", "advice", "disabled"}
    assert [(message["line"], message["char"]) for message in messages if message["path"].endswith(".ipynb")] == [
        (None, None)
    ]


def test_paths_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text(REGISTRY["ZG001"].bad)
    Path("paths").write_text("bad.py\n\n")
    assert main(["check", "@paths"]) == 1
    assert main(["check", "@path"]) == 2
    Path("paths").write_text("")
    assert main(["check", "@paths"]) == 0


@pytest.mark.skipif(shutil.which("lintrunner") is None, reason="lintrunner is not installed")
def test_the_real_one(tmp_path: Path) -> None:
    """With the very lines of docs/ci.md."""
    (adapter,) = [block for block in re.findall(r"^```toml\n(.*?)^```", CI, re.M | re.S) if "[[linter]]" in block]
    own = f'"{sys.executable}", "-m", "zerograd"'
    (tmp_path / ".lintrunner.toml").write_text(adapter.replace('    "zerograd",\n', f"    {own},\n"))
    (tmp_path / "bad.py").write_text(REGISTRY["ZG001"].bad)
    (tmp_path / "good.py").write_text(REGISTRY["ZG001"].good)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, "commit", "-q", "-m", "first"], cwd=tmp_path, check=True)
    command = ["lintrunner", "--all-files", "--output", "json", "--data-path", str(tmp_path / "data")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    (found,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (found["code"], found["name"], found["line"]) == ("ZEROGRAD", "ZG001 stale-accumulation", 11)
    assert found["path"].endswith("bad.py")
    assert done.returncode == 1
