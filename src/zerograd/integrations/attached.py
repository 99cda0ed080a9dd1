"""An audit attached to a trainer's run: each step in numbers for its loggers, and a report when it is over."""

import os
from collections.abc import Iterable
from pathlib import Path

from zerograd.core.findings import Finding
from zerograd.errors import ZerogradError
from zerograd.integrations.numbers import StepNumbers
from zerograd.report.walk import processes
from zerograd.report.writing import render
from zerograd.run.audit import Audit, Mode
from zerograd.run.saying import say
from zerograd.run.sites import started_where
from zerograd.trace.lines import TraceWriter, origin, this_run

REPORT = "zerograd.html"
TRACES = "zerograd.traces"


class AttachedAudit:
    """What goes wrong with its files stops no training: it is said once, and the audit goes on without them."""

    def __init__(self, *, mode: Mode = "full", select: Iterable[str] = ("ALL",), sample: int = 1) -> None:
        self._mode, self._select, self._sample = mode, tuple(select), sample
        self._audit: Audit | None = None
        self._steps = StepNumbers(None)
        self._folder = Path()
        self._run = ""
        self._untold: list[Finding] = []

    @property
    def findings(self) -> list[Finding]:
        """All that the run that is going has shown."""
        return self._audit.findings if self._audit is not None else []

    def start(self, folder: str | Path) -> None:
        """`folder`: of the run. The traces of all its ranks, and the report, are written into it."""
        if self._audit is not None:
            return
        self._folder, self._run = Path(folder), this_run()
        self._steps = StepNumbers(self._writer())
        # Shared: the script may have an audit of its own, or run under `zerograd run`.
        audit = Audit(
            on_finding=self._found, shared=True, select_rules=self._select, mode=self._mode, sample=self._sample,
            trace=self._steps,
        )  # fmt: skip
        self._audit = audit.start()

    def numbers(self) -> dict[str, float]:
        """Of the steps since it was last asked, named for a logger; empty if there were none."""
        taken = self._steps.taken()
        if not taken:
            return {}
        return {f"zerograd/{name}": value for name, value in (taken | {"findings": float(len(self.findings))}).items()}

    def new_findings(self) -> list[Finding]:
        """The certain ones that have come since it was last asked."""
        told, self._untold = self._untold, []
        return told

    def stop(self) -> None:
        """The run is over: what was audited is said, and the report written. Every rank writes it: the last has all."""
        audit, self._audit = self._audit, None
        if audit is None:
            return
        audit.stop()
        self._steps.close()
        say(f"zerograd: {audit.counts()}\n{self._report()}")

    def _found(self, finding: Finding) -> None:
        self._untold.append(finding)
        say(f"zerograd: {finding}")

    def _writer(self) -> TraceWriter | None:
        folder = self._folder / TRACES
        about = origin(findings=True, mode=self._mode, folder=started_where(), run=self._run)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return TraceWriter(folder / f"rank{os.environ.get('RANK', 0)}-{os.getpid()}.jsonl", about=about)
        except OSError as error:
            say(f"zerograd: no trace in {folder}: {error.strerror}")
            return None

    def _report(self) -> str:
        report = self._folder / REPORT
        draft = report.with_name(f"{REPORT}.{os.getpid()}")
        try:
            draft.write_text(render(processes([self._folder / TRACES], run=self._run), "html"), encoding="utf-8")
            draft.replace(report)
        except (ZerogradError, OSError) as error:
            return f"zerograd: no report: {error}"
        return f"report: {report}"
