"""What a check costs before it reads anything: no heavy import, no torch, little time."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "rich", "multiprocessing", "libcst", "click", "numpy", "matplotlib", "pygls", "hypothesis")
# What no file needs that trains nothing.
RUN = (
    "zerograd.source.check",
    "zerograd.source.effects",
    "zerograd.source.execute",
    "zerograd.source.heap",
    "zerograd.source.questions",
)


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (["check", "--help"], (*HEAVY, *RUN)),
        (["check", "-q", "empty.py"], (*HEAVY, *RUN)),
        (["check", "-q", "bad.py"], HEAVY),
    ],
    ids=["help", "empty", "bad"],
)
def test_check_imports_nothing_heavy(arguments: list[str], needless: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "bad.py").write_text("import torch\nfor x in y:\n    loss.backward()\n    opt.step()\n")
    code = (
        "import sys\nfrom zerograd.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {needless!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_without_torch_it_says_what_is_missing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import zerograd\n"
        "try:\n    zerograd.Step\nexcept zerograd.ZerogradError as error:\n    print(error)\n"
        "print(len(zerograd.check('import torch\\nfor x in y:\\n    loss.backward()\\n    opt.step()\\n')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "zerograd.Step needs torch" in done.stdout
    assert "install one as pytorch.org says" in done.stdout
    assert done.stdout.splitlines()[-1] == "1"


def test_the_pytest_plugin_costs_nothing_until_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    assert 'zerograd.attach.pytest_plugin' in sys.modules\n"
        "    assert not {'torch', 'rich', 'zerograd.run', 'zerograd.rules'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, check=True)
