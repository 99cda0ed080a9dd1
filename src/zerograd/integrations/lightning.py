"""Lightning's Trainer: `Trainer(callbacks=[ZerogradCallback()])`."""

from collections.abc import Iterable
from typing import Any

import lightning.pytorch as pl

from zerograd.integrations.attached import AttachedAudit
from zerograd.run.audit import Mode


class ZerogradCallback(pl.Callback):
    """Audits `trainer.fit()`. Numbers go to each of the trainer's loggers, every `log_every_n_steps` steps.

    The report is written into `trainer.log_dir`, or `default_root_dir` where there is no logger.
    """

    def __init__(self, *, mode: Mode = "full", select: Iterable[str] = ("ALL",), sample: int = 1) -> None:
        self.audit = AttachedAudit(mode=mode, select=select, sample=sample)
        self._logged = 0  # the step at which it did last

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        folder = trainer.log_dir  # asked by all ranks: it is broadcast
        self.audit.start(folder or trainer.default_root_dir)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        every = getattr(trainer, "log_every_n_steps", 0)
        if every and trainer.global_step - self._logged >= every:
            self._log(trainer)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._log(trainer)
        self.audit.stop()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        self.audit.stop()

    def _log(self, trainer: pl.Trainer) -> None:
        self._logged = trainer.global_step
        numbers, findings = self.audit.numbers(), self.audit.new_findings()
        if not trainer.is_global_zero:
            return
        for logger in trainer.loggers:
            if numbers:
                logger.log_metrics(numbers, step=trainer.global_step)
            # Lightning has no word for text. TensorBoard's writer has, and so have those that are made like it.
            add_text = getattr(getattr(logger, "experiment", None), "add_text", lambda *_: None)
            for finding in findings:
                add_text("zerograd/finding", str(finding), trainer.global_step)
