"""Accelerate: a tracker that audits from `init_trackers()` to `end_training()`."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from accelerate.tracking import GeneralTracker  # type: ignore[import-untyped]

from zerograd.integrations.attached import AttachedAudit
from zerograd.run.audit import Mode


class ZerogradTracker(GeneralTracker):  # type: ignore[misc]
    """`Accelerator(log_with=["tensorboard", tracker])`, and `accelerator.log({"loss": loss} | tracker.numbers())`."""

    name = "zerograd"
    requires_logging_directory = False
    main_process_only = False  # every rank is audited

    def __init__(
        self, folder: str | Path, *, mode: Mode = "full", select: Iterable[str] = ("ALL",), sample: int = 1
    ) -> None:
        """`folder`: of the run; traces and report are written into it."""
        super().__init__()
        self.audit = AttachedAudit(mode=mode, select=select, sample=sample)
        self._folder = folder

    @property
    def tracker(self) -> AttachedAudit:
        """What `accelerator.get_tracker("zerograd", unwrap=True)` gives."""
        return self.audit

    def start(self) -> None:
        self.audit.start(self._folder)

    def numbers(self) -> dict[str, float]:
        """Of the steps since it was last asked, for `accelerator.log()`, which gives them to every tracker."""
        return self.audit.numbers()

    def log(self, values: Mapping[str, object], step: int | None = None, **_: object) -> None:
        """What others are to know of the run is nothing to the audit."""

    def store_init_configuration(self, values: Mapping[str, object]) -> None:
        """Hyperparameters are nothing to the audit, either."""

    def finish(self) -> None:
        self.audit.stop()
