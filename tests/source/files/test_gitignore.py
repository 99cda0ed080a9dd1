"""Our reading of .gitignore against git's own, on patterns people write and on patterns nobody does."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zerograd.source.files.gitignore import Ignores

FILES = (
    "a.py",
    "b.py",
    "a/a.py",
    "a/b.py",
    "a/b/a.py",
    "b/a/b.py",
    "build/lib/x.py",
    "src/build/x.py",
    "src/sub/build/deep/x.py",
    "src/a b.py",
    "src/#x.py",
    "src/!y.py",
    "src/[z].py",
    "src/x1.py",
    "src/x-.py",
    "docs/ends ",
    "env/keep.py",
)
CASES = {
    "name": "build",
    "folder": "build/",
    "anchored": "/build",
    "anchored folder below": "src/build/",
    "star": "*.py",
    "taken back": "*.py\n!a.py",
    "not taken back below an ignored folder": "src/\n!src/x1.py",
    "all but one folder": "/*\n!/src\n/src/*\n!/src/sub",
    "star does not cross folders": "src/*/x.py",
    "two stars": "src/**/x.py",
    "two stars first": "**/build",
    "two stars last": "src/**",
    "two stars in the middle of a name": "src/x**.py",
    "question mark": "src/x?.py",
    "brackets": "src/x[0-9].py\nsrc/x[!0-9].py\nsrc/[[]z[]].py",
    "classes": "src/x[[:digit:]].py",
    "unknown class": "src/x[[:nothing:]].py",
    "open bracket": "src/x[0-9.py",
    "escapes": "\\#x.py\n\\!y.py\nsrc/\\[z\\].py",
    "comment": "#x.py\n# *.py",
    "trailing spaces": "a.py   ",
    "escaped trailing space": "ends\\ ",
    "crlf": "a.py\r\nbuild/\r\n",
    "byte order mark": "\ufeffa.py",
    "lone slash": "/",
    "lone star": "*",
    "lone bang": "!",
    "trailing backslash": "a.py\\",
    "negated bracket and slash": "src[!x]build",
    "middle slash anchors": "a/b",
    "dots": "./a.py",
    "ends in a slash of a file": "a.py/",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository").resolve()
    subprocess.run(["git", "init", "-q", root], check=True)
    for name in FILES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    return root


def git(root: Path) -> set[str]:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(root)}
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=root,
        input="\0".join(FILES),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(filter(None, done.stdout.split("\0")))


def ours(root: Path) -> set[str]:
    ignores = Ignores()
    return {name for name in FILES if ignores.ignores(os.path.join(root, name))}


@pytest.mark.parametrize("patterns", CASES.values(), ids=CASES)
def test_as_git_reads_it(patterns: str, repository: Path) -> None:
    (repository / ".gitignore").write_bytes(patterns.encode())
    assert ours(repository) == git(repository)


def test_nested_files_and_the_repositorys_own(repository: Path) -> None:
    (repository / ".gitignore").write_text("*.py\n!keep.py\n")
    (repository / "src" / ".gitignore").write_text("!x?.py\n/build\n")
    (repository / ".git" / "info" / "exclude").write_text("env/\n")
    try:
        assert ours(repository) == git(repository)
        assert "src/x1.py" not in ours(repository)
        assert "env/keep.py" in git(repository)
    finally:
        (repository / "src" / ".gitignore").unlink()
        (repository / ".git" / "info" / "exclude").write_text("")


PIECES = st.sampled_from(["a", "b", "x", "src", "build", "*", "**", "?", "/", "/", "[ab]", "[!a]", ".py", "\\", " "])
LINES = st.builds(
    lambda bang, pieces: bang + "".join(pieces), st.sampled_from(["", "", "!"]), st.lists(PIECES, max_size=6)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=4))
def test_as_git_reads_anything(repository: Path, lines: list[str]) -> None:
    (repository / ".gitignore").write_text("\n".join(lines))
    assert ours(repository) == git(repository)


def test_outside_of_a_repository_nothing_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a.py\n")
    assert not Ignores().ignores(str(tmp_path / "a.py"))
