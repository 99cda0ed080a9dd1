"""Lightning's Trainer with `accumulate_grad_batches=4`; a GAN by manual optimization."""

import contextlib
import tempfile

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from onehot import EIGHT, ONE_BROKEN, ONE_NAN, SIZE, TEN, UNEQUAL, Broken, Probe, Recorder, loader, loss_of
from torch import nn

NAME = "Lightning"


class Net(lightning.LightningModule):
    def __init__(self, dtype=torch.float64, schedule=False):
        super().__init__()
        self.net, self.schedule = Probe(dtype), schedule

    def training_step(self, batch, number):
        try:
            return loss_of(self.net, batch)
        except Broken:
            return None  # the documented way to leave a batch out

    def configure_optimizers(self):
        self.recorder = Recorder(self.net.parameters())
        if not self.schedule:
            return self.recorder
        moves = torch.optim.lr_scheduler.StepLR(self.recorder, 1, 0.5)
        return {"optimizer": self.recorder, "lr_scheduler": {"scheduler": moves, "interval": "step"}}


class Judge(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.judge = nn.Linear(SIZE, SIZE, bias=False).double(), Probe()
        nn.init.eye_(self.generator.weight)

    def configure_optimizers(self):
        self.recorder = Recorder(self.judge.parameters(), lr=0.0)
        return torch.optim.SGD(self.generator.parameters(), lr=0.0), self.recorder

    def training_step(self, batch, number):
        ours, theirs = self.optimizers()
        x = batch["x"][:1].double()
        self.manual_backward(self.judge(x).mean())
        theirs.step()
        theirs.zero_grad()
        self.manual_backward(100 * self.judge(self.generator(x)).mean())
        ours.step()
        ours.zero_grad()


class Loader:
    """Knows where it is, as Lightning asks of a loader that is to resume."""

    def __init__(self, batches):
        self.batches, self.at = batches, 0

    def __iter__(self):
        for place in range(self.at, len(self.batches)):
            self.at = place + 1
            yield self.batches[place]
        self.at = 0

    def __len__(self):
        return len(self.batches)

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Save(Callback):
    def __init__(self, at, path):
        self.at, self.path = at, path

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        if number + 1 == self.at:
            trainer.save_checkpoint(self.path)
            raise KeyboardInterrupt


def _fit(module, data, *, epochs=1, accumulate=4, callbacks=(), path=None):
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        max_epochs=epochs,
        accumulate_grad_batches=accumulate,
        callbacks=list(callbacks),
    )
    trainer.fit(module, data, ckpt_path=path)
    return module


def unequal():
    return _fit(Net(), loader(UNEQUAL)).recorder.log


def tail():
    return _fit(Net(), loader(TEN), epochs=2).recorder.log


def failure():
    return _fit(Net(), loader(ONE_BROKEN)).recorder.log


def not_finite():
    module = _fit(Net(torch.float32, schedule=True), loader(ONE_NAN))
    return bool(torch.isfinite(module.net.w).all()), module.recorder.param_groups[0]["lr"]


def gan():
    return _fit(Judge(), loader(EIGHT[:4]), accumulate=1).recorder.log


def resume():
    whole = _fit(Net(), Loader(EIGHT))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/state.ckpt"
        with contextlib.suppress(BaseException):  # Lightning turns the interrupt into an exit
            _fit(Net(), Loader(EIGHT), callbacks=[Save(2, path)])
        resumed = _fit(Net(), Loader(EIGHT), path=path)
    return torch.equal(whole.net.w, resumed.net.w)
