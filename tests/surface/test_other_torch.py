"""A torch that lacks what we import: one sentence with its version, and never a verdict."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOLD = "cannot use torch 1.4.0: "


@pytest.fixture
def old(tmp_path: Path) -> dict[str, str]:
    """An environment whose torch has little in it."""
    (tmp_path / "old" / "torch").mkdir(parents=True)
    (tmp_path / "old" / "torch" / "__init__.py").write_text('__version__ = "1.4.0"\n')
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "old"), *filter(None, [inherited])])}


def start(folder: Path, environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["Step", "audit", "Checkpoints"])
def test_what_is_imported(name: str, old: dict[str, str], tmp_path: Path) -> None:
    done = start(tmp_path, old, "-c", f"import zerograd; zerograd.{name}")
    assert f"zerograd.errors.MissingExtra: zerograd.{name} {TOLD}" in done.stderr
    assert "\n  Tested are torch 2.13 and 2.11. " in done.stderr


def test_a_run_goes_on_and_says_that_it_is_not_audited(old: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nprint('trained')\n")
    done = start(tmp_path, old, "-m", "zerograd", "run", "train.py")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.startswith(f"zerograd: this process is not audited: zerograd {TOLD}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--strict", "--require-all"])
def test_it_is_no_acquittal(option: str, old: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nprint('trained')\n")
    done = start(tmp_path, old, "-m", "zerograd", "run", option, "train.py")
    assert (done.returncode, done.stdout) == (1, "trained\n")
    assert done.stderr.endswith("zerograd: 1 process was not audited at all: no verdict\n")


def test_tests_are_not_begun(old: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): ...\n")
    done = start(tmp_path, old, "-m", "pytest", "--zerograd", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert done.returncode == 4
    assert f"pytest --zerograd {TOLD}" in done.stdout + done.stderr
