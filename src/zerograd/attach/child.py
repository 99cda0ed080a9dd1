"""Inside an audited process: the audit begins with torch and ends with a summary on standard error.

A process ends in many ways. By returning or sys.exit: atexit. By an exception: the hook, so that the traceback stays
the last word. multiprocessing's children leave by os._exit: its own finalizers. Whoever is killed, or calls os._exit,
tells no summary: what is known of it then stands on the desk.
"""

import atexit
import contextlib
import json
import math
import multiprocessing
import multiprocessing.util as processes
import os
import sys
from types import TracebackType

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from zerograd.attach.listing import listing
from zerograd.attach.pulse import Pulse
from zerograd.attach.settings import VARIABLE, Settings
from zerograd.attach.tracing import Trace
from zerograd.core.findings import Finding
from zerograd.report.colour import Paint
from zerograd.report.summary import summary
from zerograd.run.audit import Audit
from zerograd.run.saying import say
from zerograd.run.sites import started_in


class Child:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Shared: the script may have an audit of its own, and both see everything.
        about = {"findings": True, "mode": settings.mode, "folder": settings.folder, "run": settings.run}
        self._trace = Trace(settings.trace, about)
        self._audit = Audit(
            on_finding=self._tell_at_once,
            shared=True,
            mode="full" if settings.mode == "full" else "lean",
            sample=settings.sample,
            trace=self._trace if settings.trace or settings.live else None,
        )
        self._pulse = Pulse(settings.desk) if settings.desk else None
        self._told = False

    def begin(self) -> None:
        started_in(self._settings.folder)
        self._audit.start()
        if self._pulse is not None:
            register_optimizer_step_post_hook(self._beat)
        atexit.register(self.end)
        self._tell_before_tracebacks()
        # Only multiprocessing's own finalizers run in its children, and only those that are registered after it has
        # thrown the parent's away.
        if multiprocessing.parent_process() is not None:
            processes.Finalize(None, self.end, exitpriority=1)
        processes.register_after_fork(self, Child._tell_when_finalized)
        if hasattr(os, "register_at_fork"):  # a bare os.fork() tells multiprocessing nothing
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """A forked child starts its own count, on the books it has inherited."""
        self._told = False
        self._pulse = Pulse(self._settings.desk) if self._settings.desk else None
        self._trace.restart()
        self._audit.restart()

    def _tell_when_finalized(self) -> None:
        processes.Finalize(None, self.end, exitpriority=1)

    def _beat(self, *_: object) -> None:
        if self._pulse is not None and not torch.compiler.is_compiling():
            loss, norm = (self._trace.latest.get(name, math.nan) for name in ("loss", "norm"))
            self._beat_now(loss=loss, norm=norm)

    def _beat_now(self, *, told: bool = False, loss: float = math.nan, norm: float = math.nan) -> None:
        audit = self._audit
        if self._pulse is not None:
            self._pulse.beat(
                audit.steps,
                audit.backwards,
                missed=audit.missed,
                told=told,
                complete=audit.complete,
                loss=loss,
                norm=norm,
            )

    def _tell_at_once(self, finding: Finding) -> None:
        """One line when it first happens: a run may take days. On a terminal the live line tells it."""
        if not finding.fails:
            return
        if self._pulse is not None:
            self._pulse.condemn(finding)
        if not self._settings.watched:
            say(f"{_who()}: {finding.code} at {finding.site.path}:{finding.site.line}, details at the end")

    def end(self) -> None:
        """Tell what was found, once. A process that never trained has nothing to tell."""
        if self._told or not (self._audit.steps or self._audit.backwards):
            return
        self._told = True
        self._audit.stop()
        self._trace.close()
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, broken, or None
            sys.stdout.flush()
        say(self._summary())
        self._beat_now(told=True)

    def _summary(self) -> str:
        return summary(
            self._audit.findings,
            self._audit.counts(possible=self._settings.possible, notes=self._settings.notes),
            complete=self._audit.complete,
            source=listing,
            paint=Paint.of("auto", sys.stderr),
            who=_who(),
            possible=self._settings.possible,
            notes=self._settings.notes,
            trace=self._trace.path,
        )

    def _tell_before_tracebacks(self) -> None:
        usual = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
            self._audit.raised(error)  # some exceptions are gradients that were None
            self.end()
            usual(kind, error, tb)

        sys.excepthook = hook


def _who() -> str:
    """Ranks share a terminal: each says which one it is."""
    return f"zerograd [rank {os.environ['RANK']}]" if "RANK" in os.environ else "zerograd"


def begin() -> None:
    Child(Settings(**json.loads(os.environ[VARIABLE]))).begin()
