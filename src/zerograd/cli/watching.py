"""zerograd check --watch: the same check again, whenever a file that it reads has changed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from zerograd.errors import UsageError
from zerograd.report.colour import wants_colour

CLEAR = "\x1b[2J\x1b[3J\x1b[H"
_PAUSE = 0.3  # seconds between two looks at the files

Times = dict[str, tuple[int, int]]  # of each file: when it was written, and its size


def watch(words: Sequence[str], files: Callable[[], Sequence[str]]) -> int:
    """Ends when somebody ends it. Each check is a process of its own: it remembers nothing of the last one."""
    files()  # a path that is not there is an error now, and later a file that an editor is about to write
    command = [sys.executable, "-m", "zerograd", "check", *(word for word in words if word != "--watch")]
    while True:
        seen = _now(files)
        if sys.stdout.isatty() and wants_colour("auto", sys.stdout):
            sys.stdout.write(CLEAR)
            sys.stdout.flush()
        subprocess.run(command, check=False)
        print("zerograd: waiting for a change (Ctrl-C ends)", file=sys.stderr, flush=True)
        while _now(files) == seen:
            time.sleep(_PAUSE)


def _now(files: Callable[[], Sequence[str]]) -> Times:
    try:
        return _times(files())
    except UsageError:
        return {}


def _times(paths: Sequence[str]) -> Times:
    """Of those that are there: a file that comes or goes is a change as well."""
    found: Times = {}
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found
