"""Lightning's Trainer with the callback and TensorBoard: automatic, by hand without a clear, automatic with bugs."""

import sys
import warnings

import lightning
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from torch.utils.data import DataLoader, TensorDataset

from zerograd.integrations.lightning import ZerogradCallback

warnings.filterwarnings("ignore")


class Automatic(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return torch.nn.functional.mse_loss(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


class Forgetful(Automatic):
    def optimizer_zero_grad(self, epoch, batch_idx, optimizer):
        pass


class Erasing(Automatic):
    def on_after_backward(self):
        self.zero_grad()  # error: [ZG002]


class Manual(Automatic):
    automatic_optimization = False

    def training_step(self, batch, batch_idx):
        self.manual_backward(super().training_step(batch, batch_idx))
        self.optimizers().step()


def train(module: lightning.LightningModule, folder: str, **options) -> None:
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=2,
        logger=TensorBoardLogger(folder, name=None, version=""),
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        callbacks=[ZerogradCallback()],
        **options,
    )
    trainer.fit(module, DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 1)), batch_size=4))


if __name__ == "__main__":
    train(Automatic(), f"{sys.argv[1]}/right", accumulate_grad_batches=2, gradient_clip_val=1.0)
    train(Manual(), f"{sys.argv[1]}/wrong")
    train(Forgetful(), f"{sys.argv[1]}/forgetful")
    train(Erasing(), f"{sys.argv[1]}/erasing")
