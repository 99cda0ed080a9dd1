"""What audited processes tell the launcher while they run: files on a desk that both can reach.

Told at once and not at the end, because a process may leave by os._exit or be killed. Counts stand in mapped memory:
a beat is one store, and outlives the process that made it.
"""

import contextlib
import math
import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import NamedTuple

from zerograd.core.findings import Finding

# Steps, those of them that were not audited, backwards, whether the process has told its summary itself and whether all
# of it was audited, its last loss and gradient norm.
_COUNTS = struct.Struct("=QQQQQdd")


class Pulse:
    """One process's side. It never raises: a launcher that is gone is no reason for a run to fail."""

    def __init__(self, desk: str) -> None:
        self._desk = desk
        self._counts: mmap.mmap | None = None
        with contextlib.suppress(OSError):
            descriptor, _ = tempfile.mkstemp(prefix=f"counts-{os.getpid()}-", dir=desk)
            try:
                os.ftruncate(descriptor, _COUNTS.size)
                self._counts = mmap.mmap(descriptor, _COUNTS.size)
            finally:
                os.close(descriptor)

    def beat(
        self, steps: int, backwards: int, *, missed: int = 0, told: bool = False, complete: bool = True,
        loss: float = math.nan, norm: float = math.nan,
    ) -> None:  # fmt: skip
        """`missed`: of the steps, those that were not audited. `complete`: whether there is nothing else amiss."""
        if self._counts is not None:
            _COUNTS.pack_into(self._counts, 0, steps, missed, backwards, told, complete, loss, norm)

    def condemn(self, finding: Finding) -> None:
        with contextlib.suppress(OSError):
            descriptor, draft = tempfile.mkstemp(prefix="draft-", dir=self._desk)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(str(finding))
            os.rename(draft, draft.replace("draft-", "finding-"))  # whoever reads it reads all of it


class Reading(NamedTuple):
    """The launcher's side: everything that was told so far, by all processes."""

    processes: int  # that have trained
    steps: int
    missed: int  # of these, how many were not audited
    backwards: int
    findings: tuple[str, ...]  # the first lines of those that fail a strict run
    untold: tuple[int, ...]  # the processes that trained and have not (yet) told a summary
    loss: float | None = None  # the last, of the first process that reads them
    norm: float | None = None
    complete: bool = True  # everything was audited, in all of them
    deaf: int = 0  # processes with a torch that cannot be audited

    @classmethod
    def of(cls, desk: str) -> "Reading":
        counts = {
            int(path.name.split("-")[1]): _COUNTS.unpack(text)
            for path in sorted(Path(desk).glob("counts-*"))
            if len(text := path.read_bytes()) == _COUNTS.size
        }
        trained = {process: told for process, told in counts.items() if told[0] or told[2]}
        return cls(
            processes=len(trained),
            steps=sum(one[0] for one in trained.values()),
            missed=sum(one[1] for one in trained.values()),
            backwards=sum(one[2] for one in trained.values()),
            findings=tuple(dict.fromkeys(path.read_text("utf-8") for path in sorted(Path(desk).glob("finding-*")))),
            untold=tuple(process for process, one in trained.items() if not one[3]),
            loss=next((one[5] for one in trained.values() if math.isfinite(one[5])), None),
            norm=next((one[6] for one in trained.values() if math.isfinite(one[6])), None),
            complete=all(one[4] for one in trained.values()),
            deaf=len(list(Path(desk).glob("deaf-*"))),
        )
