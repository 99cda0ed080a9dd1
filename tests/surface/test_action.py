"""action.yml is what GitHub asks of a composite action, and its steps do what they say when a shell runs them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from surface.schemas import schema
from zerograd.cli.flags import parser
from zerograd.rules import REGISTRY

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
INSTALL, CHECK = (step for step in ACTION["runs"]["steps"] if "run" in step)
# Stands for Python: it makes an environment that is itself, and says what pip is told.
PYTHON = """#!/bin/sh
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; else echo "$@" >> "$PIP_LOG"; fi
"""


def test_its_shape() -> None:
    validator = Draft7Validator(schema("https://json.schemastore.org/github-action.json"))
    assert [error.message for error in validator.iter_errors(ACTION)] == []
    assert list(validator.iter_errors(ACTION | {"runs": {"using": "composite"}}))  # the schema does look
    assert ACTION["runs"]["using"] == "composite"
    assert {"args", "version", "sarif"} <= set(ACTION["inputs"])
    assert parser().parse_args(ACTION["inputs"]["args"]["default"].split()).paths == ["."]


def run(step: dict[str, Any], folder: Path, **environment: str) -> tuple[int, str]:
    """As GitHub runs it: no part of an expression reaches the shell but through the environment."""
    assert "${{" not in step["run"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    files = {name: str(folder / name) for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "RUNNER_TEMP", "GITHUB_ACTION_PATH")}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={"PATH": path, **files, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(("text", "status"), [("bad", 1), ("good", 0)])
def test_the_check_annotates_and_tells_its_status(text: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(getattr(REGISTRY["ZG001"], text))
    zerograd = shutil.which("zerograd", path=str(Path(sys.executable).parent))
    assert zerograd is not None
    done, told = run(CHECK, tmp_path, ZEROGRAD=zerograd, ARGS=". --exclude *_old.py", SARIF="out.sarif")
    assert done == status
    assert told.count("::error title=zerograd (ZG001),file=train.py,") == status
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"status={status}\n"
    assert ("ZG001" in (tmp_path / "out.sarif").read_text().partition('"results"')[2]) == bool(status)
    done, _ = run(CHECK, tmp_path, ZEROGRAD=zerograd, ARGS="nowhere.py", SARIF="")
    assert done == 2


def test_the_install_takes_a_version_or_the_actions_own(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    for version in ("0.1.0", ""):
        done, _ = run(INSTALL, tmp_path, PYTHON=str(python), VERSION=version, PIP_LOG=str(tmp_path / "pip.txt"))
        assert done == 0
    asked = [line.split()[-1] for line in (tmp_path / "pip.txt").read_text().splitlines()]
    assert asked == ["zerograd==0.1.0", str(tmp_path / "GITHUB_ACTION_PATH")]
    assert (tmp_path / "GITHUB_ENV").read_text().splitlines()[
        0
    ] == f"ZEROGRAD={tmp_path}/RUNNER_TEMP/zerograd/bin/zerograd"
