"""Inside an audited process: the audit starts whenever torch is imported, fails nobody, and tells its findings once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zerograd.rules import REGISTRY

BAD = REGISTRY["ZG001"].bad
HEAD, LOOP = BAD.split("for x, y in loader:\n")
TRAIN = f"{HEAD}def train(rank=0):\n    for x, y in loader:\n    " + LOOP.replace("\n    ", "\n        ") + "\n"


def run(cwd: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (cwd / "train.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "zerograd", "run", *options, "train.py"],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        timeout=900,
    )


def test_an_interpreter_without_zerograd_imports_torch_all_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys\nsys.modules['zerograd'] = None\n" + BAD + "print('alive')\n")
    assert (done.returncode, done.stdout) == (0, "alive\n")
    assert done.stderr.startswith("zerograd: this process is not audited: ModuleNotFoundError(")
    assert sys.executable in done.stderr


def test_forks_tell_what_is_theirs(tmp_path: Path) -> None:
    idle = "import os, sys\nif os.fork() == 0:\n    sys.exit(0)\nos.wait()\n"
    busy = "if os.fork() == 0:\n    for _ in range(2):\n        train()\n    sys.exit(0)\nos.wait()\n"
    err = run(tmp_path, TRAIN + "train()\n" + idle + busy).stderr
    assert err.count("4 steps, 4 backwards") == 1
    assert err.count("8 steps, 8 backwards") == 1
    assert err.count("slots audited") == 2


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_children_of_multiprocessing_are_audited(method: str, tmp_path: Path) -> None:
    start = f"""
if __name__ == "__main__":
    import torch.multiprocessing as mp
    child = mp.get_context("{method}").Process(target=train)
    child.start()
    child.join()
"""
    done = run(tmp_path, TRAIN + start, "--strict")
    assert done.returncode == 1
    assert done.stderr.count("next: zerograd rule ZG001") == 1
    assert done.stderr.count("4 steps, 4 backwards") == 1


def test_a_script_may_have_an_audit_of_its_own(tmp_path: Path) -> None:
    own = "import zerograd\nwith zerograd.audit(on_finding='collect') as watch:\n    train()\n"
    done = run(tmp_path, TRAIN + own + "print([finding.code for finding in watch.findings])\n", "--strict")
    assert done.stdout == "['ZG001']\n"
    assert done.returncode == 1
    assert "1 error; 4 steps, 4 backwards, 2 slots audited" in done.stderr


def test_to_look_for_torch_and_to_change_folders_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    look = "import importlib.util, os; importlib.util.find_spec('torch')\n"
    text = BAD.replace(
        "    loss.backward()\n", "    loss.backward()\n    os.chdir('/' if os.getcwd() == home else home)\n"
    )
    err = run(tmp_path, look + "os.chdir('data')\nhome = os.getcwd()\n" + text).stderr
    assert err.startswith("zerograd: ZG001 at train.py:15, details at the end")
    assert "  15 |     optimizer.step()  " in err
    assert "3 times" in err
