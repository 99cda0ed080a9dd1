"""flake8 with our codes: what check says, line by line, and what both configs leave out."""

import ast
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from zerograd.attach.flake8_plugin import Plugin, _chosen
from zerograd.rules import REGISTRY

BAD, GOOD, NOTE = REGISTRY["ZG001"].bad, REGISTRY["ZG001"].good, REGISTRY["ZG403"].bad
LOCAL = "[flake8:local-plugins]\nextension =\n    ZG = zerograd.attach.flake8_plugin:Plugin\n"
CONFIG = "[flake8]\nmax-line-length = 100\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _chosen.cache_clear()


def told(text: str) -> list[str]:
    plugin = Plugin(ast.parse(text), text.splitlines(keepends=True), "./train.py")
    return [f"{line}:{column} {said}" for line, column, said, _ in plugin.run()]


def test_a_finding_and_its_place() -> None:
    (line,) = told(BAD)
    assert line.startswith("11:4 ZG001 optimizer.step() uses gradients left over from the previous step")
    assert told(GOOD) == []
    assert told("x = 1\n") == []


def test_the_config_of_zerograd_counts() -> None:
    assert told(NOTE) == []
    Path("pyproject.toml").write_text('[tool.zerograd]\nnotes = true\nignore = ["ZG001"]\n')
    _chosen.cache_clear()
    assert [line.split()[1] for line in told(NOTE)] == ["ZG403"]
    assert told(BAD) == []


def flake8(*options: str) -> "subprocess.CompletedProcess[str]":
    pytest.importorskip("flake8")
    known = any(one.name == "ZG" for one in entry_points(group="flake8.extension"))
    Path(".flake8").write_text(CONFIG if known else CONFIG + LOCAL)
    command = [sys.executable, "-m", "flake8", *options, "."]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_the_real_one() -> None:
    Path("bad.py").write_text(BAD)
    Path("good.py").write_text(GOOD)
    Path("allowed.py").write_text(BAD.replace("# error: [ZG001]", "# noqa: ZG001"))
    Path("broken.py").write_text("import torch\nloss.backward(\noptimizer.step()\n")
    done = flake8("--select", "ZG,E9")
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stderr
    assert len(lines) == 2
    assert lines[0].startswith("./bad.py:11:5: ZG001 optimizer.step() uses gradients left over from the previous step")
    assert "broken.py" in lines[1]
    assert "E999" in lines[1]
    assert flake8("--select", "ZG", "--extend-ignore", "ZG0").stdout == ""
    assert flake8("--select", "ZG", "--exclude", "bad.py,broken.py").returncode == 0
