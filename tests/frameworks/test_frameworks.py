"""Trainings with the loops of others, unchanged: no finding but the one bug seeded in each, at the user's line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPTS = [
    "accelerate_loop.py",
    "fabric_loop.py",
    "ignite_engine.py",
    "lightning_trainer.py",
    "transformers_trainer.py",
]
QUIET = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1"}
LAUNCHERS = {"accelerate_loop.py": ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1"]}


@pytest.mark.parametrize("name", SCRIPTS)
def test_only_the_seeded_bug_is_found(name: str) -> None:
    (line, code) = next(
        (number, found[1])
        for number, text in enumerate((HERE / name).read_text().splitlines(), 1)
        if (found := re.search(r"# error: \[(\w+)\]", text))
    )
    done = subprocess.run(
        [sys.executable, *LAUNCHERS.get(name, []), "-m", "zerograd", "run", name],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, **QUIET},
    )
    assert done.returncode == 0, done.stderr
    told = [text.removeprefix("zerograd: ") for text in done.stderr.splitlines() if re.search(r":\d+:\d+: ZG", text)]
    assert {text.split(" ")[0] + text.split(" ")[1] for text in told} == {f"{name}:{line}:1:{code}"}, done.stderr


def test_means_of_unequal_counts_are_told_whoever_loops() -> None:
    done = subprocess.run(
        [sys.executable, "uneven_groups.py"],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, **QUIET},
    )
    told = [line.split() for line in done.stderr.splitlines() if line.startswith("with_")]
    assert len(told) == 10, done.stderr
    for name, counts, *found in told:
        assert found == (["ZG104:certain"] if counts == "2" else []), name
