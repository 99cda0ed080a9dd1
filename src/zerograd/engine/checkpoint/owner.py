"""Whose work in progress a folder is, told by its name: there from the moment the folder is, and after any death.

A process is known by its machine, number and time of birth. Machines may share names and numbers of processes (the
containers of one host do), so the boot and the namespace of the numbers belong to the machine.
"""

import hashlib
import os
import platform
import time
from contextlib import suppress
from pathlib import Path

_ABANDONED_S = 24 * 3600.0  # no save takes a day: whether a process of another machine lives cannot be asked


def this_process() -> str:
    pid = os.getpid()
    return f"{_machine()}-{pid}-{_born(pid)}"


def is_gone(owner: str, folder: Path) -> bool:
    """Whether nobody is at work in the folder any more. In doubt somebody is."""
    machine, pid, born = owner.split("-")
    if machine != _machine() or os.name != "posix":
        return _last_change(folder) < time.time() - _ABANDONED_S
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # somebody else's, and alive
    return _born(int(pid)) != born  # its number has been given to another


def _machine() -> str:
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _born(pid: int) -> str:
    """When a process was started, in ticks since the boot; "dead" if it only waits to be buried, "0" if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "0"
    return "dead" if fields[0] in "ZX" else fields[19]


def _last_change(folder: Path) -> float:
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    except OSError:  # somebody is changing it
        return time.time()
