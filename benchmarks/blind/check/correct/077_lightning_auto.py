import lightning as L
import torch
import torch.nn.functional as F
from torch import nn


class Lit(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(28 * 28, 64), nn.ReLU(), nn.Linear(64, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.net(x.flatten(1)), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self.net(x.flatten(1)), y))

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.StepLR(opt, 5)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "epoch"}}


ds = torch.utils.data.TensorDataset(torch.rand(128, 1, 28, 28), torch.randint(0, 10, (128,)))
trainer = L.Trainer(max_epochs=2, accumulate_grad_batches=4, gradient_clip_val=0.5)
trainer.fit(Lit(), torch.utils.data.DataLoader(ds, 16))
