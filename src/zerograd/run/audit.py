"""`with zerograd.audit() as audit:` proves what every optimizer step consumed."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal

from zerograd.core.events import Event
from zerograd.core.findings import Certainty, Finding
from zerograd.core.tally import tally
from zerograd.errors import AuditError, FaultFound, unknown
from zerograd.rules import REGISTRY, select
from zerograd.rules.rule import Sees
from zerograd.run.allowing import Allowing
from zerograd.run.hooks import installed
from zerograd.run.saying import say
from zerograd.run.sites import started_where
from zerograd.run.watcher import Watcher
from zerograd.trace.coverage import Coverage, many
from zerograd.trace.lines import TraceWriter, of_rank, origin

OnFinding = Literal["print", "raise", "collect"] | Callable[[Finding], None]
Mode = Literal["lean", "full"]
Trace = str | Path | Callable[[Event], None]
_active: list["Audit"] = []


class Audit:
    """Findings of a live run. Each is said once per place and then counted."""

    def __init__(
        self, *, on_finding: OnFinding = "print", select_rules: Iterable[str] = ("ALL",), shared: bool = False,
        mode: Mode = "lean", sample: int = 1, trace: Trace | None = None,
    ) -> None:  # fmt: skip
        if mode not in ("lean", "full"):
            raise unknown("mode", str(mode), ["lean", "full"], slug="unknown-mode")
        self._on_finding = on_finding
        self._shared = shared  # `zerograd run` watches a script that may well have an audit of its own
        codes = select(select_rules)
        seen = Sees.RUN | Sees.FULL if mode == "full" else Sees.RUN
        rules = [rule.as_run() for rule in REGISTRY.values() if rule.code in codes and rule.sees & seen]
        about = origin(findings=True, mode=mode, folder=started_where())
        self._trace = trace if trace is None or callable(trace) else TraceWriter(of_rank(trace), about=about)
        self._watcher = Watcher(
            rules=rules, report=self._receive, full=mode == "full", sample=sample, log=self._trace
        )  # fmt: skip
        self._found: dict[tuple[object, ...], Finding] = {}
        self._allowing = Allowing()
        self._undo: contextlib.ExitStack | None = None

    def start(self) -> "Audit":
        if any(not other._shared for other in _active):
            raise AuditError(
                "an audit is already running",
                cure="Audits do not nest: leave the outer one, or read its findings.",
                slug="audit-running",
            )
        self._watcher.open_books()
        self._undo = contextlib.ExitStack()
        self._undo.enter_context(installed(self._watcher))
        _active.append(self)
        return self

    def stop(self) -> None:
        """Take every hook out again. Stopping twice is harmless."""
        if self._undo is not None:
            self._undo.close()
            self._undo = None
            _active.remove(self)
            self._watcher.close_books()
            for other in _active if not self._shared else ():  # what happened in it is the program's own affair
                other._watcher.judge.overlook_single_steps()
            if isinstance(self._trace, TraceWriter):  # a function is its giver's to close
                self._trace.close()

    def __enter__(self) -> "Audit":
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is not None:
            self.raised(error)
        self.stop()

    def conclude(self) -> None:
        """The program is over, though not the audit: say what only shows when nothing more comes."""
        self._watcher.judge.conclude()

    def raised(self, error: BaseException) -> None:
        """The program has ended with this exception: some of them are gradients that were None."""
        self._watcher.detectors.nones.raised(error, error.__traceback__)
        self._watcher.detectors.scaling.raised(error)
        with contextlib.suppress(FaultFound):  # the program's own exception is on its way
            self._watcher.detectors.flush()

    @property
    def findings(self) -> list[Finding]:
        return list(self._found.values())

    @property
    def steps(self) -> int:
        return self._watcher.steps

    @property
    def backwards(self) -> int:
        return self._watcher.backwards

    @property
    def slots(self) -> int:
        return self._watcher.slots

    @property
    def unaudited(self) -> Mapping[str, int]:
        """Steps that nothing is said about, by the reason."""
        return dict(self._watcher.unaudited)

    @property
    def missed(self) -> int:
        """How many steps those are."""
        return self._watcher.unaudited.total()

    @property
    def coverage(self) -> Coverage:
        """How many steps were judged, and why the others were not."""
        return Coverage.of(self.steps, self._watcher.unaudited)

    @property
    def complete(self) -> bool:
        """Whether every step was judged, by every rule, and there was one wherever something was deposited."""
        stepped = bool(self.steps or not self.backwards)
        return stepped and not self.missed and not self._watcher.detectors.lost

    def restart(self) -> None:
        """Forget findings and counts, keep the books: what a forked process does with what it inherited."""
        self._found.clear()
        self._watcher.forked()

    def counts(self, *, possible: bool = True, notes: bool = True) -> str:
        """What was found and audited, in one line. `possible`, `notes`: whether such findings are shown."""
        coverage, lost = self.coverage, ", ".join(self._watcher.detectors.lost)
        rest = f"{many(self.backwards, 'backward')}, {many(self.slots, 'slot')}"
        counted = f"{coverage.share}, {rest} audited" if coverage.whole else f"{coverage.share} audited, {rest}"
        if self.backwards and not self.steps:
            found = f"{tally(self.findings, possible=possible, notes=notes)}; " if self._found else ""
            return f"{found}{counted}; not audited: no torch.optim.Optimizer has stepped"
        verdict = self._verdict(possible=possible, notes=notes)
        parts = [verdict, counted, coverage.why, f"rules not audited: {lost}" if lost else ""]
        return "; ".join(part for part in parts if part)

    def _verdict(self, *, possible: bool, notes: bool) -> str:
        if self._found:
            return tally(self.findings, possible=possible, notes=notes)
        if self.complete:
            return "every gradient accounted for"
        judged = self.coverage.audited
        these = "it" if judged == 1 else f"these {judged:,}"
        return f"nothing found in {these}" if judged else "no gradient accounted for"

    def summary(self) -> str:
        """Each certain finding on a line, what full mode has seen, and the counts."""
        certain = [finding for finding in self.findings if finding.certainty is Certainty.CERTAIN]
        norms = self._watcher.norms
        seen = [str(norms.first)] if norms is not None and norms.first is not None else []
        return "\n".join([*(f"{finding} (x{finding.times})" for finding in certain), *seen, self.counts()])

    def _receive(self, finding: Finding) -> None:
        if self._allowing.allows(finding):
            return
        self._watcher.chronicle.found(finding)
        key = (finding.code, finding.site)
        known = self._found.get(key)
        if known is not None and known.certainty in (finding.certainty, Certainty.CERTAIN):
            self._found[key] = known._replace(times=known.times + 1)  # what was certain once stays certain
            return
        self._found[key] = finding._replace(times=known.times + 1 if known else 1)
        if finding.certainty is Certainty.CERTAIN:
            self._announce(finding)

    def _announce(self, finding: Finding) -> None:
        if callable(self._on_finding):
            self._on_finding(finding)
        elif self._on_finding == "print":
            say(str(finding))
        elif self._on_finding == "raise":
            raise FaultFound(str(finding), cure=f"Cure: {finding.cure}.", slug="fault-found")


def program_has_its_own() -> bool:
    """Whether an audit runs that the program itself began, and not what it runs under."""
    return any(not audit._shared for audit in _active)


def audit(
    *, on_finding: OnFinding = "print", select: Iterable[str] = ("ALL",), mode: Mode = "lean", sample: int = 1,
    trace: Trace | None = None,
) -> Audit:  # fmt: skip
    """An audit, to be used as `with zerograd.audit() as audit:` or with start() and stop().

    mode: "lean" looks at gradients; "full" also reads losses and norms. sample: look at 2 steps of every so many.
    trace: write what happens to this file, with the rank in its name where there are several.
    """
    return Audit(on_finding=on_finding, select_rules=select, mode=mode, sample=sample, trace=trace)
