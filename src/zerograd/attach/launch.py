"""Start a script so that it, and every Python process it starts, is audited.

The script is executed by a plain Python in place of ours, with a folder in front of PYTHONPATH whose sitecustomize
wakes the audit when torch has been imported. So `__main__`, sys.argv, spawned and forked children are as always.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from zerograd.attach.settings import VARIABLE, Settings
from zerograd.errors import UsageError, missing

BOOT = Path(__file__).parent / "boot"


def launch(script: list[str], *, module: bool, strict: bool) -> int:
    """Never returns without `strict`: the script takes our place. With it, the status to exit with."""
    _exists(script[0], module=module)
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [sys.executable, *flags, *(["-m"] if module else []), *script]
    if not strict:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, command, _environment(Settings(folder=_here())))
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(verdicts=folder, folder=_here())
        with _forwarding() as started:
            process = subprocess.Popen(command, env=_environment(settings))
            started.append(process)
            status = _wait(process)
        failed = any(Path(folder).iterdir())
    return 1 if status == 0 and failed else status


def _exists(script: str, *, module: bool) -> None:
    if module and not _top_level(script.partition(".")[0]):
        raise UsageError(f"no module {script!r}", slug="no-script")
    if not module and not Path(script).exists():
        raise missing("script", script, slug="no-script")


def _top_level(name: str) -> bool:
    """Whether Python would find it. What is inside it is for Python to say: to look there is to import the package."""
    if PathFinder.find_spec(name, ["", *sys.path]) is not None:
        return True
    try:
        return find_spec(name) is not None  # built in, or installed in place by a finder of its own
    except (ImportError, ValueError):
        return False


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # deleted: then paths are shown in full
        return ""


def _environment(settings: Settings) -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        VARIABLE: json.dumps(settings._asdict()),
        "PYTHONPATH": os.pathsep.join([str(BOOT), inherited] if inherited else [str(BOOT)]),
    }


@contextlib.contextmanager
def _forwarding() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Hand on what a scheduler or a closing terminal sends us, as if the script stood in our place."""
    started: list[subprocess.Popen[bytes]] = []

    def forward(number: int, frame: FrameType | None) -> None:
        for process in started:
            process.send_signal(number)

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # One that is ignored stays so, here and in the script: that is what nohup asks for.
    before = {
        number: signal.signal(number, forward) for number in signals if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(process: "subprocess.Popen[bytes]") -> int:
    """The script's status. Ctrl-C reaches it by itself; a script killed by a signal ends us with 128 + its number."""
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue
        return status if status >= 0 else 128 - status
