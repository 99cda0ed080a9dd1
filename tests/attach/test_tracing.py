"""A trace outlives its run: kill -9 in the middle leaves everything up to the last complete step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zerograd.attach.tracing import Trace
from zerograd.core.events import Event, Kind, Site
from zerograd.trace.lines import read_trace

SCRIPT = """
import itertools, os
import torch
weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([weight], lr=0.1)
for number in itertools.count(1):
    optimizer.zero_grad()
    weight.sum().backward()
    optimizer.step()
    if number >= 50:
        os.write(1, f"{number}\\n".encode())
"""


def test_kill_9_leaves_a_trace_up_to_the_last_complete_step(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "zerograd", "run", "--trace", "traces", "train.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"50\n"
        process.kill()  # in the middle of the next ones
        printed = [50, *map(int, process.stdout.read().split())]
    assert process.returncode == -9
    (path,) = (tmp_path / "traces").iterdir()
    assert path.name == f"rank0-{process.pid}.jsonl"
    events = read_trace(path)
    # A loop that clears first is whole after its step; the step that was being taken may be there as well.
    steps = [event for event in events if event.kind is Kind.CONSUME]
    assert printed[-1] <= len(steps) <= printed[-1] + 1
    kinds = [event.kind for event in events if event.kind in (Kind.CLEAR, Kind.DEPOSIT, Kind.CONSUME)]
    assert kinds[: 3 * printed[-1]] == [Kind.CLEAR, Kind.DEPOSIT, Kind.CONSUME] * printed[-1]
    assert steps[0].site == Site("train.py", 9)


def test_a_process_that_never_trains_leaves_nothing(tmp_path: Path) -> None:
    Trace(str(tmp_path)).close()
    assert list(tmp_path.iterdir()) == []


def test_a_fork_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace(str(tmp_path))
    trace(Event(Kind.CONSUME, "opt"))
    trace(Event(Kind.DEPOSIT, "opt"))  # not written yet when the process forks
    monkeypatch.setattr(os, "getpid", lambda: 1)
    trace.restart()
    trace(Event(Kind.CONSUME, "opt"))
    trace.close()
    assert sorted(len(read_trace(path)) for path in tmp_path.iterdir()) == [1, 1]


def test_a_full_disk_ends_the_trace_and_not_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Trace(str(tmp_path / "no" / "such" / "folder"))
    trace(Event(Kind.CONSUME, "opt"))
    trace(Event(Kind.CONSUME, "opt"))
    trace.close()
    assert capsys.readouterr().err.count("zerograd: the trace ends here:") == 1
