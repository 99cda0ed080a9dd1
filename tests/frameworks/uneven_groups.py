"""The last micro-batch of each group is smaller, and its mean counts as much: told in full mode, whoever loops."""

import sys
import warnings

import lightning
import torch
from accelerate import Accelerator
from ignite.engine import create_supervised_trainer
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader

import zerograd

warnings.filterwarnings("ignore")
SIZES = [8, 8, 4] * 4


def net() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))


def batches(sizes: list[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.randn(size, 4), torch.randn(size, 1)) for size in sizes]


def with_accelerate(sizes: list[int]) -> None:
    accelerator = Accelerator(gradient_accumulation_steps=3, cpu=True)
    plain = net()
    model, optimizer = accelerator.prepare(plain, torch.optim.SGD(plain.parameters(), lr=0.1))
    for x, y in batches(sizes):
        with accelerator.accumulate(model):
            accelerator.backward(mse_loss(model(x), y))
            optimizer.step()
            optimizer.zero_grad()


def with_fabric(sizes: list[int]) -> None:
    fabric = lightning.Fabric(accelerator="cpu")
    plain = net()
    model, optimizer = fabric.setup(plain, torch.optim.SGD(plain.parameters(), lr=0.1))
    for number, (x, y) in enumerate(batches(sizes), 1):
        with fabric.no_backward_sync(model, enabled=number % 3 != 0):
            fabric.backward(mse_loss(model(x), y) / 3)
        if number % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()


def with_ignite(sizes: list[int]) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    create_supervised_trainer(model, optimizer, mse_loss, gradient_accumulation_steps=3).run(batches(sizes), 1)


class Automatic(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = net()

    def training_step(self, batch, number):
        return mse_loss(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Manual(Automatic):
    automatic_optimization = False

    def training_step(self, batch, number):
        self.manual_backward(mse_loss(self.net(batch[0]), batch[1]) / 3)
        if number % 3 == 2:
            self.optimizers().step()
            self.optimizers().zero_grad()


def with_lightning(module: lightning.LightningModule, sizes: list[int], **options: int) -> None:
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=1, **quiet, **options)
    trainer.fit(module, DataLoader(batches(sizes), batch_size=None))


def with_lightning_alone(sizes: list[int]) -> None:
    with_lightning(Automatic(), sizes, accumulate_grad_batches=3)


def with_lightning_by_hand(sizes: list[int]) -> None:
    with_lightning(Manual(), sizes)


if __name__ == "__main__":
    for train in (with_accelerate, with_fabric, with_ignite, with_lightning_alone, with_lightning_by_hand):
        for sizes in (SIZES, [8] * 12):
            with zerograd.audit(on_finding="collect", mode="full") as audit:
                train(sizes)
            found = " ".join(f"{one.code}:{one.certainty.value}" for one in audit.findings)
            print(train.__name__, len(set(sizes)), found, file=sys.stderr)
