"""Several processes: their outcomes in order, and an end of one that ends nothing else."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zerograd.rules import REGISTRY
from zerograd.source import processes
from zerograd.source.sweep import Settings, Target, sweep

BAD = REGISTRY["ZG001"].bad
PATIENCE = 300  # seconds, on a machine that does much else


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Target]:
    monkeypatch.chdir(tmp_path)
    for number in range(20):
        Path(f"{number:02}.py").write_text(BAD if number % 3 else "import torch\noptimizer.zero_grad(\n")
    return [Target(f"{number:02}.py", f"{number:02}.py") for number in range(20)]


def _die(_: Settings) -> None:
    os._exit(1)


def test_outcomes_are_in_order(targets: list[Target]) -> None:
    read = list(processes.read_in_processes(targets, Settings(), jobs=2))
    assert [bool(outcome.trouble) for outcome in read] == [number % 3 == 0 for number in range(20)]


def test_when_a_process_dies_the_rest_is_read_here(targets: list[Target], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_begin", _die)
    outcomes = sweep(targets, Settings(jobs=2))
    assert [bool(outcome.trouble) for outcome in outcomes] == [number % 3 == 0 for number in range(20)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="counts processes in /proc")
def test_ctrl_c_is_one_quiet_end(targets: list[Target]) -> None:
    """The signal goes to the whole group, as from a terminal: nobody writes a traceback, nobody is left."""
    for number in range(1500):
        Path(f"more_{number}.py").write_text(BAD)
    command = [sys.executable, "-m", "zerograd", "check", "--no-cache", "--jobs", "2", "--output-format", "concise"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + PATIENCE
    while len(_group(child.pid)) < 3 and time.monotonic() < deadline:  # until its processes have begun
        pass
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, out, err) == (130, "", "")
    while _group(child.pid) and time.monotonic() < deadline:  # those it had begun end by themselves
        pass
    assert _group(child.pid) == []


def _group(leader: int) -> list[int]:
    """The processes of a group, from /proc."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            members.append(int(entry.name))
    return members
