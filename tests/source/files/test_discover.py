"""Which files are read: exclusions of three kinds, from wherever the check is started."""

import os
import subprocess
from pathlib import Path

import pytest

from zerograd.source.files.discover import python_files
from zerograd.source.files.exclusion import EXCLUDED, Exclusion

FILES = (
    "a.py",
    "build/made.py",
    "pkg/a.py",
    "pkg/gen/b_pb2.py",
    "pkg/gen/c.py",
    "pkg/notes.txt",
    ".hidden/d.py",
    "out/e.py",
)


@pytest.fixture(autouse=True)
def _tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)


def found(*paths: str, force: bool = False, **options) -> list[str]:
    return list(python_files(paths or ["."], Exclusion(**options), force=force))


def test_by_default() -> None:
    assert found() == ["a.py", "out/e.py", "pkg/a.py", "pkg/gen/b_pb2.py", "pkg/gen/c.py"]


@pytest.mark.parametrize(
    ("globs", "left"),
    [
        (["pkg"], ["a.py", "out/e.py"]),
        (["gen/"], ["a.py", "out/e.py", "pkg/a.py"]),
        (["*_pb2.py"], ["a.py", "out/e.py", "pkg/a.py", "pkg/gen/c.py"]),
        (["pkg/a.py"], ["a.py", "out/e.py", "pkg/gen/b_pb2.py", "pkg/gen/c.py"]),
        (["./pkg/gen"], ["a.py", "out/e.py", "pkg/a.py"]),
        (["pkg/*"], ["a.py", "out/e.py"]),
    ],
)
def test_globs(globs: list[str], left: list[str]) -> None:
    assert found(patterns=[*EXCLUDED, *globs]) == left


def test_an_absolute_glob_is_a_path() -> None:
    assert found(patterns=[os.path.abspath("a.py")]) == ["build/made.py", *found()[1:]]


def test_globs_count_from_the_config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path / "pkg")
    assert found(patterns=["pkg/gen"], root=str(tmp_path)) == ["a.py"]
    assert found("gen", patterns=["pkg/gen"], root=str(tmp_path)) == ["gen/b_pb2.py", "gen/c.py"]
    assert found(str(tmp_path / "pkg"), patterns=["pkg/gen"], root=str(tmp_path)) == [str(tmp_path / "pkg" / "a.py")]


def test_what_is_named_is_read_unless_forced() -> None:
    assert found("build/made.py", ".hidden/d.py") == ["build/made.py", ".hidden/d.py"]
    assert found("build/made.py", "build", ".hidden/d.py", "a.py", force=True) == ["a.py"]
    assert found("pkg/gen/c.py", patterns=["pkg"], force=True) == []


def test_what_git_ignores(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("out/\n*_pb2.py\n")
    assert "out/e.py" in found()  # there is no repository
    subprocess.run(["git", "init", "-q"], check=True)
    assert found() == ["a.py", "pkg/a.py", "pkg/gen/c.py"]
    assert found(git=False) == ["a.py", "out/e.py", "pkg/a.py", "pkg/gen/b_pb2.py", "pkg/gen/c.py"]
    assert found("out", "pkg/gen/b_pb2.py") == ["out/e.py", "pkg/gen/b_pb2.py"]
    assert found("out", "pkg/gen/b_pb2.py", "pkg/gen", force=True) == ["pkg/gen/c.py"]
