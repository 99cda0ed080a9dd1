"""The wheel in an environment of its own, without torch: a check finds, and whatever needs torch says so."""

import os
import subprocess
import sys
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import zerograd
from zerograd.rules import REGISTRY

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "zerograd"
NEEDED = ("rich", "pygments", "markdown_it", "mdurl")  # lent, so that nothing has to be fetched


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its commands."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    (packages,) = folder.glob("lib/*/site-packages")
    for name in NEEDED:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (packages / name).symlink_to(Path(spec.origin).parent)
    return folder / "bin"


def run(clean: Path, folder: Path, *command: str) -> tuple[int, str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ZEROGRAD"))}
    done = subprocess.run(
        [clean / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_everything_is_in_it(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = [
        file
        for file in SOURCE.rglob("*")
        if file.is_file() and not {"__pycache__", ".zerograd_cache"} & set(file.parts)
    ]
    assert {f"zerograd/{file.relative_to(SOURCE).as_posix()}" for file in files} <= inside


def test_its_version_has_one_home(wheel: Path) -> None:
    assert wheel.name == f"zerograd-{zerograd.__version__}-py3-none-any.whl"
    assert f'"{zerograd.__version__}"' not in (ROOT / "pyproject.toml").read_text()


def test_a_check_finds_a_bug_without_torch(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(REGISTRY["ZG001"].bad)
    status, out, err = run(clean, tmp_path, "zerograd", "check", "train.py")
    assert status == 1
    assert "ZG001" in out
    assert err == "1 error; 1 file read, 1 fixable with --fix --unsafe-fixes\n"


@pytest.mark.parametrize("command", [["run", "train.py"], ["lab"], ["demo"]], ids=lambda command: command[0])
def test_what_needs_torch_says_so(command: list[str], clean: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    status, out, err = run(clean, tmp_path, "zerograd", *command)
    assert (status, out) == (2, "")
    assert err == (
        f"zerograd: zerograd {command[0]} needs torch\n"
        "  It uses the torch of its environment, and here is none: install one as pytorch.org says.\n"
        "  See docs/errors.md#missing-extra (zerograd explain missing-extra)\n"
    )


def test_what_an_error_points_to_is_in_it(clean: Path, tmp_path: Path) -> None:
    status, out, err = run(clean, tmp_path, "zerograd", "explain", "empty-slots")
    assert (status, err) == (0, "")
    assert out.startswith("empty-slots\n\nThe block ended without any gradient.")


def test_what_is_imported_says_so_too(clean: Path, tmp_path: Path) -> None:
    for name in ("Step", "audit", "join"):
        _, _, err = run(clean, tmp_path, "python", "-c", f"import zerograd; zerograd.{name}")
        assert f"zerograd.errors.MissingExtra: zerograd.{name} needs torch\n  It uses the torch of its" in err


def test_it_asks_for_no_torch(wheel: Path) -> None:
    """Not even for a newer one: the build for somebody's GPU must stay. Nor do the extras set a limit."""
    with zipfile.ZipFile(wheel) as inside:
        (name,) = [one for one in inside.namelist() if one.endswith(".dist-info/METADATA")]
        asked = [line for line in inside.read(name).decode().splitlines() if line.startswith("Requires-Dist: ")]
    plain = [line.removeprefix("Requires-Dist: ") for line in asked if "extra ==" not in line]
    assert [word.partition(">")[0] for word in plain] == ["rich"]
    assert [line for line in asked if line.startswith("Requires-Dist: torch;")]
    assert not [line for line in asked if line.startswith("Requires-Dist: torch>")]
