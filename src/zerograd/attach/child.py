"""Inside an audited process: the audit begins with torch and ends with a summary on standard error."""

import atexit
import contextlib
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
from zerograd.run.sites import located, started_in


class Child:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Shared: the script may have an audit of its own, and both see everything.
        self._audit = Audit(on_finding=self._leave_verdict, shared=True)
        self._told = False
        self._condemned = False

    def begin(self) -> None:
        started_in(self._settings.folder)
        self._audit.start()
        atexit.register(self.end)
        self._tell_before_tracebacks()
        # multiprocessing's children leave by os._exit: only its own finalizers run there, and only those that are
        # registered after it has thrown the parent's away.
        if multiprocessing.parent_process() is not None:
            processes.Finalize(None, self.end, exitpriority=1)
        processes.register_after_fork(self, Child._tell_when_finalized)
        if hasattr(os, "register_at_fork"):  # a bare os.fork() tells multiprocessing nothing
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """A forked child starts its own count, on the books it has inherited."""
        self._told = False
        self._audit.restart()

    def _tell_when_finalized(self) -> None:
        processes.Finalize(None, self.end, exitpriority=1)

    def _leave_verdict(self, finding: Finding) -> None:
        """At once, and not at the end: a process may leave by os._exit, or be killed."""
        if self._settings.verdicts and finding.fails and not self._condemned:
            self._condemned = True
            with contextlib.suppress(OSError):  # the launcher is gone, and nobody asks any more
                os.close(tempfile.mkstemp(dir=self._settings.verdicts)[0])

    def end(self) -> None:
        """Tell what was found, once. A process that never trained has nothing to tell."""
        if self._told or not (self._audit.steps or self._audit.backwards):
            return
        self._told = True
        self._audit.stop()
        certain = [finding for finding in self._audit.findings if finding.certainty is Certainty.CERTAIN]
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, broken, or None
            sys.stdout.flush()
        with contextlib.suppress(OSError, ValueError):
            if sys.stderr is not None:
                print(self._telling(certain), file=sys.stderr, flush=True)

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
        with open(located(path), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return None


def begin() -> None:
    Child(Settings(**json.loads(os.environ[VARIABLE]))).begin()
