"""zerograd check --watch: the same check again when a file changes, in a process that somebody ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from zerograd.cli import main
from zerograd.rules import REGISTRY

BAD, GOOD = REGISTRY["ZG001"].bad, REGISTRY["ZG001"].good
WAITS = "zerograd: waiting for a change (Ctrl-C ends)\n"


def put(file: Path, text: str) -> None:
    """At once, or a look in between would find half of it and check once more."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(file)


def test_it_checks_again_when_a_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(BAD)
    command = [sys.executable, "-m", "zerograd", "check", ".", "--watch", "--output-format", "concise"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said = iter(process.stdout.readline, "")
        try:
            assert "train.py:11:5: ZG001 " in next(said)
            assert [next(said), next(said)] == ["1 error; 1 file read, 1 fixable with --fix --unsafe-fixes\n", WAITS]
            put(file, GOOD)
            assert [next(said), next(said)] == ["nothing found; 1 file read\n", WAITS]
            put(tmp_path / "other.py", GOOD)
            assert [next(said), next(said)] == ["nothing found; 2 files read\n", WAITS]
        finally:
            process.terminate()


@pytest.mark.parametrize("option", ["--fix", "--add-ignore", "--write-baseline"])
def test_it_changes_nothing(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path), "--watch", option]) == 2
    assert "--watch goes with neither standard input" in capsys.readouterr().err


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert main(["check", str(tmp_path / "trian.py"), "--watch"]) == 2
