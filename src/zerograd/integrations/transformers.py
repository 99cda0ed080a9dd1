"""The Hugging Face Trainer: `trainer.add_callback(ZerogradCallback(trainer))`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from zerograd.integrations.attached import AttachedAudit
from zerograd.run.audit import Mode

if TYPE_CHECKING:
    from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments


class ZerogradCallback(TrainerCallback):
    """Audits `trainer.train()`. Numbers go through `trainer.log()` whenever the trainer logs, so to all its loggers.

    The report is written into `output_dir`.
    """

    def __init__(
        self, trainer: "Trainer", *, mode: Mode = "full", select: Iterable[str] = ("ALL",), sample: int = 1
    ) -> None:
        # The trainer: a callback is handed everything but the one who can log.
        self._trainer = trainer
        self.audit = AttachedAudit(mode=mode, select=select, sample=sample)

    def on_train_begin(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **_: Any
    ) -> None:
        self.audit.start(Path(args.output_dir or "."))

    def on_step_end(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **_: Any
    ) -> None:
        # The last step too, though the trainer may not log it: after the training some loggers are closed.
        due = control.should_log
        if due or control.should_training_stop:
            self._log()
            control.should_log = due  # trainer.log() takes it for done: the loss is still to come

    def on_train_end(
        self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **_: Any
    ) -> None:
        self.audit.stop()

    def _log(self) -> None:
        numbers = self.audit.numbers()
        if numbers:
            self._trainer.log(numbers)
        for finding in self.audit.new_findings():
            told: dict[str, Any] = {"zerograd/finding": str(finding)}  # typed for numbers, and takes text
            self._trainer.log(told)
