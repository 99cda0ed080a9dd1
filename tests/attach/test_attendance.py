"""The launcher on a real terminal, and with signals: the script's screen and its end are its own."""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from attach.screens import Terminal

ROWS, COLUMNS = 12, 80
PATIENCE = 300  # seconds, on a machine that does much else
# What a shell does for its jobs: the terminal becomes the one that Ctrl-C and job control go through.
ON_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
SCRIPT = """
import os, sys
import torch, tqdm
weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([weight], lr=0.1)
print(*range(40), sep='\\n')
for _ in tqdm.tqdm(range(5), bar_format='{l_bar}{bar}|', mininterval=0):
    weight.sum().backward()
    optimizer.step()
print('not finished: ', end='', flush=True)
input()
os.system('echo from a child')
sys.stderr.write('\\rreturned')
for _ in tqdm.tqdm(range(5), bar_format='{l_bar}{bar}|', mininterval=0):
    print('a line above the bar')
print('x' * 200)
print('rich' in sys.modules)
"""


def on_terminal(cwd: Path, *words: str, until: bytes, then: Callable[[int], None]) -> tuple[bytes, int]:
    """Everything a program wrote to its terminal, and its status. `then`: what is done once `until` was written."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, sys.executable, *words],
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    written, end = b"", time.monotonic() + PATIENCE
    with contextlib.suppress(OSError):  # EIO: nobody holds the other side any more
        while select.select([ours], [], [], max(0, end - time.monotonic()))[0] and (chunk := os.read(ours, 65536)):
            written += chunk
            if until and until in written:
                until = b""
                then(ours)
    os.close(ours)
    return written, process.wait(timeout=PATIENCE)


def enter(terminal: int) -> None:
    os.write(terminal, b"\n")


def test_the_live_line_garbles_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    alone, watched = Terminal(ROWS, COLUMNS), Terminal(ROWS, COLUMNS)
    written, status = on_terminal(tmp_path, "train.py", until=b"not finished: ", then=enter)
    alone.feed(written)
    assert status == 0
    written, status = on_terminal(
        tmp_path, "-m", "zerograd", "run", "train.py", until=b"5 steps, 5 backwards", then=enter
    )
    watched.feed(written)
    assert status == 0
    assert b"1 finding: " in written  # the live line tells it while the script runs
    lines = alone.transcript()
    assert lines[-1] == "False"
    assert watched.transcript()[: len(lines)] == lines
    summary = watched.transcript()[len(lines) :]
    assert summary[0].startswith("train.py:9:1: ZG001 optimizer.step() uses gradients left over from the previous")
    assert summary[-1] == "next: zerograd rule ZG001"
    assert watched.screen.margins in (None, (0, ROWS - 1))


def test_the_live_panel_garbles_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    alone, watched = Terminal(ROWS, COLUMNS), Terminal(ROWS, COLUMNS)
    alone.feed(on_terminal(tmp_path, "train.py", until=b"not finished: ", then=enter)[0])
    words = ("-m", "zerograd", "run", "--live", "--mode", "full", "train.py")
    written, status = on_terminal(tmp_path, *words, until=b"5 steps, 5 backwards", then=enter)
    watched.feed(written)
    assert status == 0
    assert b"steps/s" in written
    assert b"1 finding: " in written
    lines = alone.transcript()
    assert watched.transcript()[: len(lines)] == lines
    assert watched.screen.margins in (None, (0, ROWS - 1))


def test_a_script_that_is_killed_leaves_the_terminal_whole(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.replace("input()", f"input()\nos.kill(os.getpid(), {signal.SIGKILL})"))
    written, status = on_terminal(tmp_path, "-m", "zerograd", "run", "train.py", until=b"5 steps", then=enter)
    terminal = Terminal(ROWS, COLUMNS)
    terminal.feed(written)
    assert status == -signal.SIGKILL
    assert terminal.screen.margins in (None, (0, ROWS - 1))
    *_, last, rest = terminal.transcript()
    assert last + rest == "zerograd: 1 process not summarised (killed by SIGKILL); all told: 5 steps, 5 backwards"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
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
        assert launcher.wait(timeout=PATIENCE) == 5


EARLY = """
import os, signal, subprocess, sys
from zerograd.attach import attendance
class Popen(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGTERM)  # the script runs, and the launcher does not know it yet
subprocess.Popen = Popen
print(attendance.attend([sys.executable, "-c", "import signal; signal.pause()"], dict(os.environ), desk="", row=None))
"""


def test_a_signal_in_the_instant_of_the_start_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == f"{-signal.SIGTERM}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_launcher_ends_as_the_script_ended(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\nos.pause()\n")
    command = [sys.executable, "-m", "zerograd", "run", "--strict", "train.py"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE).returncode == -number
