"""Start a script so that it, and every Python process it starts, is audited.

The script is executed by a plain Python in place of ours, with a folder in front of PYTHONPATH whose sitecustomize
wakes the audit when torch has been imported. So `__main__`, sys.argv, spawned and forked children are as always.
"""

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

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
        os.execve(sys.executable, command, _environment(Settings()))
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(verdicts=folder)
        process = subprocess.Popen(command, env=_environment(settings))
        status = _wait(process)
        failed = any(Path(folder).iterdir())
    return 1 if status == 0 and failed else status


def _exists(script: str, *, module: bool) -> None:
    if module:
        try:
            found = find_spec(script) is not None or find_spec(f"{script}.__main__") is not None
        except (ImportError, ValueError):
            found = False
        if not found and not Path(*script.split(".")).with_suffix(".py").exists():
            raise UsageError(f"no module {script!r}", slug="no-script")
    elif not Path(script).exists():
        raise missing("script", script, slug="no-script")


def _environment(settings: Settings) -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        VARIABLE: json.dumps(settings._asdict()),
        "PYTHONPATH": os.pathsep.join([str(BOOT), inherited] if inherited else [str(BOOT)]),
    }


def _wait(process: "subprocess.Popen[bytes]") -> int:
    """The script's status. Ctrl-C reaches it by itself; a script killed by a signal ends us with 128 + its number."""
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue
        return status if status >= 0 else 128 - status
