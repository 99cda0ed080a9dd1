"""zerograd run: the script's output, arguments, exit status and children are its own."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attach.scripts import BACKWARD, SCRIPTS, TRAIN, Script
from zerograd.rules import REGISTRY

BAD, GOOD = REGISTRY["ZG001"].bad, REGISTRY["ZG001"].good


def run(cwd: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "zerograd", "run", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=900,
    )


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_stdout_and_status_are_the_scripts_own(script: Script, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("print('imported once')\n")
    where = ["-m", "package.script"] if script.module else ["package/script.py"]

    def start(text: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        (tmp_path / "package" / "script.py").write_text(text)
        command = [sys.executable, *words, *where, *script.arguments]
        return subprocess.run(command, cwd=tmp_path, input=script.stdin, capture_output=True, timeout=900)

    head = TRAIN if script.trains else BACKWARD
    alone = start(head + script.text if script.trains else script.text)
    audited = start(head + script.text, "-m", "zerograd", "run")
    assert (audited.stdout, audited.returncode) == (alone.stdout, alone.returncode)
    told = [line for line in audited.stderr.splitlines() if line.startswith(b"zerograd: ")]
    leaves = re.search(r"os\.(kill|_exit\(4|execv)", script.text)  # without a chance to say anything
    assert bool(told) is not bool(leaves)
    if b"Traceback" in alone.stderr:  # then it stays the last word
        assert audited.stderr.index(told[0]) < audited.stderr.index(b"Traceback")
        assert audited.stderr.splitlines()[-1] == alone.stderr.splitlines()[-1]


def test_a_finding_is_told_at_once_and_again_with_the_next_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BAD + "import sys\nprint('the end', file=sys.stderr)\n")
    done = run(tmp_path, "train.py")
    assert (done.returncode, done.stdout) == (0, "")
    first, middle, *rest = done.stderr.splitlines()
    assert first == "zerograd: ZG001 at train.py:11, details at the end"
    assert middle == "the end"
    assert rest[0].startswith("train.py:11:1: ZG001 optimizer.step() uses gradients left over from the previous step")
    assert any(line.startswith("  11 |     optimizer.step()") and line.endswith("; 3 times") for line in rest)
    assert rest[-2].startswith("zerograd: 1 error; 4 steps, 4 backwards, 2 slots audited")
    assert rest[-1] == "next: zerograd rule ZG001"


def test_strict(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "worse.py").write_text(BAD + "import sys\nsys.exit(7)\n")
    assert run(tmp_path, "--strict", "good.py").returncode == 0
    assert run(tmp_path, "--strict", "worse.py").returncode == 7


CLOSURE = """\
import torch

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)


def closure():
    optimizer.zero_grad()
    loss = weight.square().sum()
    loss.backward()
    return loss


for _ in range(3):
    optimizer.step(closure)
closure()
optimizer.step()
"""


def test_what_was_not_audited_fails_where_all_is_required(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "closure.py").write_text(CLOSURE)
    assert run(tmp_path, "--require-all", "good.py").returncode == 0
    done = run(tmp_path, "--strict", "closure.py")
    headline = (
        "zerograd: nothing found in it; 1 of 4 steps audited, 4 backwards, 1 slot; 3 not audited: fed by a closure"
    )
    assert (done.returncode, done.stderr.splitlines()) == (0, [headline])
    done = run(tmp_path, "--require-all", "closure.py")
    said = "zerograd: 3 of 4 steps were not audited (--require-all)"
    assert (done.returncode, done.stderr.splitlines()) == (1, [headline, said])


LEAVING = {
    "by os._exit": ("import os\nos._exit(0)\n", 1),
    "with standard output and error closed": ("import sys\nsys.stdout.close()\nsys.stderr.close()\n", 1),
    "by a signal": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", -signal.SIGKILL),
}


@pytest.mark.parametrize(("leaving", "status"), LEAVING.values(), ids=LEAVING)
def test_a_verdict_is_not_lost_by_leaving(leaving: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(BAD + leaving)
    done = run(tmp_path, "--strict", "bad.py")
    assert done.returncode == status
    if "_exit" in leaving:
        assert done.stderr.splitlines()[-1] == (
            "zerograd: 1 process not summarised (left by os._exit() or was killed); all told: 4 steps, 4 backwards"
        )
    elif "SIGKILL" in leaving:
        assert "not summarised (killed by SIGKILL)" in done.stderr


def test_another_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('other sitecustomize')\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text(BAD)
    done = run(tmp_path, "-m", "package.train", PYTHONPATH=str(tmp_path / "site"))
    assert "other sitecustomize" in done.stdout
    assert "package/train.py:11:1: ZG001" in done.stderr


def test_a_sitecustomize_beside_the_script_is_the_scripts_own(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("NAME = 'mine'\n")
    (tmp_path / "train.py").write_text("import sitecustomize\nprint(sitecustomize.NAME)\n")
    assert run(tmp_path, "train.py").stdout == "mine\n"


def test_two_ranks_under_torchrun(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BAD)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    apart = ["--redirects", "3", "--log-dir", str(tmp_path / "said")]  # each rank on streams of its own
    done = subprocess.run(
        [*command, *apart, "-m", "zerograd", "run", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0
    for rank in "01":
        (said,) = (tmp_path / "said").glob(f"*/attempt_0/{rank}/stderr.log")
        assert f"zerograd [rank {rank}]: 1 error; 4 steps" in said.read_text()
        assert f"zerograd [rank {rank}]: ZG001 at train.py:" in said.read_text()
