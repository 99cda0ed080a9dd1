"""Inside an audited process: the audit begins with torch and ends with a summary on standard error."""

import atexit
import json
import multiprocessing
import multiprocessing.util as processes
import os
import sys
import tempfile
from types import TracebackType

from zerograd.attach.settings import VARIABLE, Settings
from zerograd.core.findings import Certainty, Finding
from zerograd.report.colour import Paint, wants_colour
from zerograd.report.text import full
from zerograd.run.audit import Audit


class Child:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._audit = Audit(on_finding="collect")
        self._told = False

    def begin(self) -> None:
        self._audit.start()
        atexit.register(self.end)
        self._tell_before_tracebacks()
        # multiprocessing's children leave by os._exit: only its own finalizers run there.
        if multiprocessing.parent_process() is not None:
            processes.Finalize(None, self.end, exitpriority=1)
        processes.register_after_fork(self, Child._forked)

    def _forked(self) -> None:
        """A forked child starts its own count, on the books it has inherited."""
        self._told = False
        self._audit.restart()
        processes.Finalize(None, self.end, exitpriority=1)

    def end(self) -> None:
        """Tell what was found, once. A process that never trained has nothing to tell."""
        if self._told or not (self._audit.steps or self._audit.backwards):
            return
        self._told = True
        self._audit.stop()
        certain = [finding for finding in self._audit.findings if finding.certainty is Certainty.CERTAIN]
        sys.stdout.flush()
        print(self._telling(certain), file=sys.stderr, flush=True)
        if self._settings.verdicts and any(finding.fails for finding in certain):
            os.close(tempfile.mkstemp(dir=self._settings.verdicts)[0])

    def _telling(self, certain: list[Finding]) -> str:
        paint = Paint(on=wants_colour("auto", sys.stderr))
        lines = [full(finding, _source, paint) + f"\n  = seen {finding.times} times\n" for finding in certain]
        rank = f" [rank {os.environ['RANK']}]" if "RANK" in os.environ else ""
        lines.append(f"zerograd{rank}: {self._audit.counts()}")
        if certain:
            lines.append(f"next: zerograd rule {certain[0].code}")
        return "\n".join(lines)

    def _tell_before_tracebacks(self) -> None:
        usual = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
            self.end()
            usual(kind, error, tb)

        sys.excepthook = hook


def _source(path: str) -> list[str] | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return None


def begin() -> None:
    Child(Settings(**json.loads(os.environ[VARIABLE]))).begin()
