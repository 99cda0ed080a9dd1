"""Start a script so that it, and every Python process it starts, is audited.

The script is executed by a plain Python with a folder in front of PYTHONPATH whose sitecustomize wakes the audit when
torch has been imported. So `__main__`, sys.argv, spawned and forked children are as always. Unless somebody watches, or
asked for a verdict, that Python takes our place: there is no process between the script and whoever started it.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from zerograd.attach import reporting
from zerograd.attach.attendance import attend, end_as
from zerograd.attach.pulse import Reading
from zerograd.attach.settings import VARIABLE, Settings
from zerograd.attach.terminal import LastRow, has_rows
from zerograd.errors import UsageError, missing
from zerograd.trace.coverage import many
from zerograd.trace.lines import this_run

BOOT = Path(__file__).parent / "boot"
ROWS = 6  # of the live panel


def launch(
    script: list[str], *, module: bool, strict: bool, settings: Settings, report: str = "", require_all: bool = False
) -> int:
    """The status to exit with, if we are still there to say it. `report`: a file for a page about the run.

    `strict`, `require_all`: not 0 if a fault was found, or if something was not audited.
    """
    _exists(script[0], module=module)
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [sys.executable, *flags, *(["-m"] if module else []), *script]
    folder = settings.trace or (reporting.folder_for(report) if report else "")
    settings = settings._replace(folder=_here(), watched=_is_watched(), trace=_made(folder), run=this_run())
    if settings.live and not settings.watched:
        print("zerograd: --live needs a terminal; the run goes on without it", file=sys.stderr)
    if not (strict or require_all or settings.watched or report):
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, command, _environment(settings))
    row = LastRow(sys.stderr.fileno(), ours=ROWS if settings.live else 1) if settings.watched else None
    with tempfile.TemporaryDirectory(prefix="zerograd-") as desk:
        status = attend(command, _environment(settings._replace(desk=desk)), desk=desk, row=row)
        reading = Reading.of(desk)
    if reading.untold:
        print(_not_summarised(reading, status), file=sys.stderr)
    if report:
        print(reporting.make(report, settings), file=sys.stderr)
    left = require_all and not reading.complete
    if left:
        print(f"zerograd: {_left(reading)} (--require-all)", file=sys.stderr)
    deaf = reading.deaf and (strict or require_all)
    if deaf:
        who = "1 process was" if reading.deaf == 1 else f"{reading.deaf} processes were"
        print(f"zerograd: {who} not audited at all: no verdict", file=sys.stderr)
    return 1 if status == 0 and (deaf or left or (strict and reading.findings)) else end_as(status)


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


def _made(folder: str) -> str:
    """The folder for traces, from the root: a script may change to another one."""
    if not folder:
        return ""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--trace {folder}: cannot be written: {error.strerror}", slug="output-file") from None
    return os.path.abspath(folder)


def _is_watched() -> bool:
    """Whether a live line is for us to draw: of several ranks on one terminal, the first draws it."""
    return os.environ.get("RANK", "0") == "0" and has_rows(sys.stderr)


def _environment(settings: Settings) -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        VARIABLE: json.dumps(settings._asdict()),
        "PYTHONPATH": os.pathsep.join([str(BOOT), inherited] if inherited else [str(BOOT)]),
    }


def _left(reading: Reading) -> str:
    """What was not audited, of all processes."""
    if reading.missed:
        verb = "was" if reading.missed == 1 else "were"
        return f"{reading.missed:,} of {many(reading.steps, 'step')} {verb} not audited"
    return "not everything was audited"


def _not_summarised(reading: Reading, status: int) -> str:
    """For a process that did not live to tell it: what is known of it here."""
    how = f"killed by {signal.Signals(-status).name}" if status < 0 else "left by os._exit() or was killed"
    who = "1 process" if len(reading.untold) == 1 else f"{len(reading.untold)} processes"
    counts = f"{many(reading.steps, 'step')}, {many(reading.backwards, 'backward')}"
    return "\n".join([*reading.findings, f"zerograd: {who} not summarised ({how}); all told: {counts}"])
