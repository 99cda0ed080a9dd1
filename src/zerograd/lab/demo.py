"""`zerograd demo`: one script with a real bug, found in source, proved in a run, and gone with Step."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from zerograd.errors import ZerogradError

SCRIPTS = Path(__file__).parent / "scripts"
_RIGHT = re.compile(r"(\d+%) of the test shapes right")


def play(folder: Path, say: Callable[[str], None]) -> bool:
    """Show the three tools on the bundled script. True if each of them did its part."""
    folder.mkdir(parents=True, exist_ok=True)
    for script in SCRIPTS.glob("*.py"):
        shutil.copy(script, folder)
    say(f"A training script with a real bug: {folder / 'train.py'}")

    _heading("1. found: zerograd check train.py", say)
    found = _run(folder, "check", "train.py")
    say(found.stdout.strip())

    _heading("2. proved: zerograd run train.py", say)
    proved = _run(folder, "run", "train.py")
    say(proved.stdout.strip())
    say(proved.stderr.strip())

    _heading("3. gone: zerograd run train_with_step.py", say)
    gone = _run(folder, "run", "--strict", "train_with_step.py")
    say(gone.stdout.strip())
    say(gone.stderr.strip())

    before, after = _result(proved.stdout), _result(gone.stdout)
    say(f"\nWith the bug {before} of the test shapes are right, without it {after}.")
    say(f"Everything is in {folder}. Compare: diff {folder / 'train.py'} {folder / 'train_with_step.py'}")
    return "ZG001" in found.stdout and found.returncode == 1 and "ZG001" in proved.stderr and gone.returncode == 0


def _heading(text: str, say: Callable[[str], None]) -> None:
    say(f"\n--- {text} ---")


def _run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "zerograd", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise ZerogradError(f"zerograd {' '.join(arguments)} failed: {done.stderr.strip()}", slug="demo")
    return done


def _result(output: str) -> str:
    found = _RIGHT.findall(output)
    return str(found[-1]) if found else "?"
