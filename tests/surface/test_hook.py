"""The pre-commit hook, really installed by pre-commit into a repository, stops a commit that has a finding."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from zerograd.rules import REGISTRY

ROOT = Path(__file__).parents[2]
BAD, GOOD = REGISTRY["ZG001"].bad.replace("  # error: [ZG001]", ""), REGISTRY["ZG001"].good
# What pip needs to build the hook's package. It is lent, so that nothing has to be fetched.
BACKEND = ("hatchling", "packaging", "pathspec", "pluggy", "trove_classifiers")


class Repository:
    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        folder.mkdir()
        self.folder = folder
        self._environment = environment
        self.run("git", "init", "--quiet")

    def run(self, *command: str, status: int = 0) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def commit(self, *, status: int = 0) -> str:
        self.run("git", "add", "--all")
        return self.run("git", "commit", "--message", "A commit", status=status)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    lent = tmp_path / "lent"
    lent.mkdir()
    for name in BACKEND:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        home = Path(spec.origin).parent
        (lent / name).symlink_to(home)
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON", "PRE_COMMIT"))}
    return bare | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(lent),
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say yes to a "no"
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


def notebook(text: str) -> str:
    cell = {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_commit_with_a_finding_is_stopped(tmp_path: Path, environment: dict[str, str]) -> None:
    ours = Repository(tmp_path / "ours", environment)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, ours.folder)
    (ours.folder / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "errors.md", ours.folder / "docs")  # the wheel has a copy
    shutil.copytree(ROOT / "src", ours.folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    ours.commit()
    revision = ours.run("git", "rev-parse", "HEAD").strip()

    theirs = Repository(tmp_path / "theirs", environment)
    (theirs.folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {ours.folder.as_uri()}\n    rev: {revision}\n    hooks:\n      - id: zerograd\n"
    )
    (theirs.folder / "zerograd.toml").write_text('extend-exclude = ["vendor"]\n')
    (theirs.folder / "train.py").write_text(BAD)
    (theirs.folder / "explore.ipynb").write_text(notebook(BAD))
    (theirs.folder / "notes.txt").write_text(BAD)
    (theirs.folder / "vendor").mkdir()
    (theirs.folder / "vendor" / "theirs.py").write_text(BAD)
    theirs.run("pre-commit", "install")
    told = theirs.commit(status=1)
    assert "zerograd check" in told
    assert "train.py:11:5: ZG001" in told
    assert "explore.ipynb:cell 1:11:5: ZG001" in told
    assert "2 errors; 2 files read" in told  # once, and not what is excluded, though pre-commit names it

    (theirs.folder / "train.py").write_text(GOOD)
    (theirs.folder / "explore.ipynb").write_text(notebook(GOOD))
    assert "Passed" in theirs.commit()
