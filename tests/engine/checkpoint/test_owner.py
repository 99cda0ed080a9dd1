"""Whose work in progress it is, and whether he lives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zerograd.engine.checkpoint import owner


def test_this_process_lives(tmp_path: Path) -> None:
    assert not owner.is_gone(owner.this_process(), tmp_path)


def test_one_that_has_ended(tmp_path: Path) -> None:
    says = "from zerograd.engine.checkpoint import owner; print(owner.this_process())"
    ended = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True).stdout.strip()
    assert owner.is_gone(ended, tmp_path)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="births are told by /proc")
def test_a_number_that_another_process_has_now(tmp_path: Path) -> None:
    machine, pid, born = owner.this_process().split("-")
    assert owner.is_gone(f"{machine}-{pid}-{int(born) - 1}", tmp_path)


def test_of_another_machine_nobody_knows_for_a_day(tmp_path: Path) -> None:
    elsewhere = f"{'0' * 16}-{os.getpid()}-1"
    assert not owner.is_gone(elsewhere, tmp_path)
    os.utime(tmp_path, (1, 1))
    assert owner.is_gone(elsewhere, tmp_path)
    (tmp_path / "rank0.json").write_text("just now")
    os.utime(tmp_path, (1, 1))
    assert not owner.is_gone(elsewhere, tmp_path)
