"""Lightning's Trainer: automatic and manual optimization, accumulation, clipping, bfloat16, validation.

The last one optimizes by hand and forgets zero_grad().
"""

import warnings

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class Automatic(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def loss(self, batch):
        x, y = batch
        return torch.nn.functional.mse_loss(self.net(x), y)

    def training_step(self, batch, batch_idx):
        return self.loss(batch)

    def validation_step(self, batch, batch_idx):
        self.loss(batch)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


class Manual(Automatic):
    automatic_optimization = False
    forgets = False

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        if not self.forgets:
            optimizer.zero_grad()
        self.manual_backward(self.loss(batch))
        self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        optimizer.step()  # error: [ZG001]


class Forgetful(Manual):
    forgets = True


def fit(module, **options) -> None:
    lightning.seed_everything(0, verbose=False)
    loader = DataLoader(TensorDataset(torch.randn(56, 4), torch.randn(56, 1)), batch_size=8)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trainer.fit(module, loader, loader)


if __name__ == "__main__":
    fit(Automatic())
    fit(Automatic(), accumulate_grad_batches=3, gradient_clip_val=1.0)
    fit(Automatic(), accumulate_grad_batches=3, precision="bf16-mixed", gradient_clip_val=0.5)
    fit(Manual())
    fit(Forgetful())
