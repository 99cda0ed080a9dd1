"""`zerograd run --report` on real runs: the page is there when the script has ended, however it ended."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
if sys.argv[1:] == ["kill"]:
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("end", ["", "kill"])
def test_a_page_about_the_run(tmp_path: Path, end: str) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "zerograd", "run", "--report", "r.html", "train.py", *filter(None, [end])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == (-9 if end else 0)
    assert "report: r.html" in done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "optimizer.step() at train.py:7 uses gradients left over from the previous step" in page
    assert "It happened in 3 of 4 steps of optimizer." in page
    assert "optimizer.step()" in page  # the source
    assert len(list((tmp_path / "r.traces").iterdir())) == 1


BY_HAND = """
import torch
weight = torch.ones(3, requires_grad=True)
weight.sum().backward()
"""


@pytest.mark.parametrize("script", ["print('hello')", BY_HAND], ids=["trains nothing", "has no optimizer"])
def test_a_script_without_an_optimizer(tmp_path: Path, script: str) -> None:
    (tmp_path / "train.py").write_text(script)
    command = [sys.executable, "-m", "zerograd", "run", "--report", "r.html", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.endswith("zerograd: no report: no torch.optim.Optimizer has stepped in this run\n")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]
