"""Lightning: LBFGS, changing windows, weight averaging, GANs, windows by hand, skipped batches, two processes.

Nothing here is wrong.
"""

import warnings

import lightning
import torch
from lightning.pytorch.callbacks import GradientAccumulationScheduler, StochasticWeightAveraging
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


def net(inputs: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(inputs, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


class Plain(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = net(4)

    def training_step(self, batch, batch_idx):
        return torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class Searching(Plain):
    def configure_optimizers(self):
        return torch.optim.LBFGS(self.parameters(), lr=0.1)


class Skipping(Plain):
    def training_step(self, batch, batch_idx):
        return None if batch_idx % 3 else super().training_step(batch, batch_idx)


class WindowByHand(Plain):
    automatic_optimization = False

    def training_step(self, batch, batch_idx):
        self.manual_backward(super().training_step(batch, batch_idx) / 3)
        if (batch_idx + 1) % 3 == 0:
            optimizer = self.optimizers()
            optimizer.step()
            optimizer.zero_grad()


class Gan(lightning.LightningModule):
    automatic_optimization = False

    def __init__(self) -> None:
        super().__init__()
        self.maker, self.critic = net(4), net(1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        makes, judges = self.optimizers()
        judges.zero_grad()
        self.manual_backward(self.critic(self.maker(x).detach()).mean() - self.critic(y).mean())
        judges.step()
        makes.zero_grad()
        self.manual_backward(-self.critic(self.maker(x)).mean())
        makes.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.maker.parameters()), torch.optim.Adam(self.critic.parameters())


class TogglingGan(Gan):
    def training_step(self, batch, batch_idx):
        x, y = batch
        makes, judges = self.optimizers()
        for optimizer, loss in (
            (makes, lambda: -self.critic(self.maker(x)).mean()),
            (judges, lambda: self.critic(self.maker(x).detach()).mean() - self.critic(y).mean()),
        ):
            self.toggle_optimizer(optimizer)
            self.manual_backward(loss())
            optimizer.step()
            optimizer.zero_grad()
            self.untoggle_optimizer(optimizer)


def fit(module: lightning.LightningModule, **options) -> None:
    loader = DataLoader(TensorDataset(torch.randn(56, 4), torch.randn(56, 1)), batch_size=8)
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    lightning.Trainer(max_epochs=3, accelerator="cpu", **{"devices": 1, **quiet, **options}).fit(module, loader)


if __name__ == "__main__":
    fit(Searching())
    fit(Skipping())
    fit(WindowByHand())
    fit(Gan())
    fit(TogglingGan())
    fit(Plain(), callbacks=[GradientAccumulationScheduler({0: 1, 1: 2})])
    fit(Plain(), callbacks=[StochasticWeightAveraging(1e-3, swa_epoch_start=1)])
    fit(Plain(), gradient_clip_val=0.5, gradient_clip_algorithm="value")
    fit(Plain(), strategy="ddp_spawn", devices=2, accumulate_grad_batches=2)
