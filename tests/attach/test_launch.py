"""zerograd run: the script's output, arguments, exit status and children are its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from zerograd.rules import REGISTRY

BAD, GOOD = REGISTRY["ZG001"].bad, REGISTRY["ZG001"].good
WORKER = """
import torch
def work(rank):
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        weight.sum().backward()
        optimizer.step()
"""


def run(cwd: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zerograd", "run", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=120,
    )


def plain(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)


SCRIPTS = {
    "arguments": (
        "import sys, os\nprint(sys.argv, __name__, os.path.basename(__file__), sys.path[0])",
        ["--lr", "1", "-m"],
    ),
    "exit status": ("import sys\nprint('bye')\nsys.exit(3)", []),
    "system exit with text": ("import torch\nraise SystemExit('no data')", []),
    "an exception": ("import torch\nprint('a')\nraise ValueError('broken')", []),
    "training": (GOOD + "print(float(model.weight.sum()) != 0)", []),
    "stdin": ("import sys\nprint(sys.stdin.read())", []),
    "the path": ("import sys\nprint(sys.path, 'sitecustomize' in sys.modules)", []),
}


@pytest.mark.parametrize(("text", "arguments"), SCRIPTS.values(), ids=SCRIPTS)
def test_stdout_and_status_are_the_scripts_own(text: str, arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(text)
    alone, audited = plain(tmp_path, "script.py", *arguments), run(tmp_path, "script.py", *arguments)
    assert (alone.stdout, alone.returncode) == (audited.stdout, audited.returncode)


def test_a_finding_is_told_on_stderr_with_the_next_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BAD)
    done = run(tmp_path, "train.py")
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.startswith("train.py:11:1: ZG001 SGD.step() consumes stale gradients: backward() on line 10")
    assert "  11 |     optimizer.step()" in done.stderr
    assert done.stderr.endswith("4 steps, 4 backwards, 2 slots audited; 1 finding\nnext: zerograd rule ZG001\n")


def test_strict(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "worse.py").write_text(BAD + "import sys\nsys.exit(7)\n")
    assert run(tmp_path, "--strict", "bad.py").returncode == 1
    assert run(tmp_path, "--strict", "good.py").returncode == 0
    assert run(tmp_path, "--strict", "worse.py").returncode == 7


def test_the_summary_comes_before_the_traceback(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BAD + "raise ValueError('late')\n")
    err = run(tmp_path, "train.py").stderr
    assert err.index("1 finding") < err.index("Traceback") < err.index("ValueError: late")
    assert err.count("1 finding") == 1


def test_a_module(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "train.py").write_text(BAD + "print(__name__)\n")
    done = run(tmp_path, "-m", "package.train")
    assert done.stdout == "__main__\n"
    assert "package/train.py:11:1: ZG001" in done.stderr


def test_a_package_is_run_and_not_imported_by_the_launcher(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("print('imported')\n")
    (tmp_path / "package" / "__main__.py").write_text("print('main')\n")
    (tmp_path / "package" / "train.py").write_text("print('train')\n")
    for module, says in (("package", "imported\nmain\n"), ("package.train", "imported\ntrain\n")):
        assert run(tmp_path, "-m", module).stdout == plain(tmp_path, "-m", module).stdout == says
    refused = run(tmp_path, "-m", "pakcage.train")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no module 'pakcage.train'" in refused.stderr


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_children_are_audited(method: str, tmp_path: Path) -> None:
    start = f"""
if __name__ == "__main__":
    import torch.multiprocessing as mp
    child = mp.get_context("{method}").Process(target=work, args=(0,))
    child.start()
    child.join()
"""
    (tmp_path / "train.py").write_text(WORKER + start)
    err = run(tmp_path, "train.py", PYTHONWARNINGS="ignore").stderr
    assert err.count("ZG001") == 2  # the finding, and the next command
    assert err.count("3 steps, 3 backwards") == 1


def test_data_loader_workers_have_nothing_to_say(tmp_path: Path) -> None:
    text = GOOD.replace(
        "loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]",
        "data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randn(16, 1))\n"
        "loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)",
    )
    (tmp_path / "train.py").write_text(text)
    err = run(tmp_path, "train.py", PYTHONWARNINGS="ignore").stderr
    assert err.count("audited") == 1


def test_another_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('other sitecustomize')\n")
    (tmp_path / "train.py").write_text(BAD)
    done = run(tmp_path, "train.py", PYTHONPATH=str(tmp_path / "site"))
    assert "other sitecustomize" in done.stdout
    assert "1 finding" in done.stderr


def test_a_sitecustomize_beside_the_script_is_the_scripts_own(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("NAME = 'mine'\n")
    (tmp_path / "train.py").write_text("import sitecustomize\nprint(sitecustomize.NAME)\n")
    assert run(tmp_path, "train.py").stdout == plain(tmp_path, "train.py").stdout == "mine\n"


LEAVING = {
    "by os._exit": "import os\nos._exit(0)\n",
    "with standard output closed": "import os, sys\nsys.stdout.close()\n",
    "with standard error closed": "import os, sys\nsys.stderr.close()\n",
}


@pytest.mark.parametrize("leaving", LEAVING.values(), ids=LEAVING)
def test_a_verdict_is_not_lost_by_leaving(leaving: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD + leaving)
    (tmp_path / "good.py").write_text(GOOD + leaving)
    assert run(tmp_path, "--strict", "bad.py").returncode == 1
    assert run(tmp_path, "--strict", "good.py").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_the_script(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import signal, sys\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    command = [sys.executable, "-m", "zerograd", "run", "--strict", "train.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "ready\n"
        launcher.send_signal(number)
        assert launcher.wait(timeout=60) == 5


def test_two_ranks_under_torchrun(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BAD)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    done = subprocess.run(
        [*command, "-m", "zerograd", "run", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0
    assert "zerograd [rank 0]: 4 steps" in done.stderr
    assert "zerograd [rank 1]: 4 steps" in done.stderr
