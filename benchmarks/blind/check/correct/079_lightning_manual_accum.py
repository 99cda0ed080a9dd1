import lightning.pytorch as pl
import torch
from torch import nn


class Q(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.c = nn.Linear(9, 9)
        self.k = 3

    def training_step(self, b, j):
        o = self.optimizers()
        s = self.lr_schedulers()
        v = (self.c(b) - b).pow(2).mean() / self.k
        self.manual_backward(v)
        if (j + 1) % self.k == 0 or self.trainer.is_last_batch:
            self.clip_gradients(o, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            o.step()
            o.zero_grad()
            s.step()

    def configure_optimizers(self):
        o = torch.optim.SGD(self.c.parameters(), 0.1)
        return [o], [torch.optim.lr_scheduler.ExponentialLR(o, 0.99)]


pl.Trainer(max_epochs=1).fit(Q(), torch.utils.data.DataLoader(torch.randn(60, 9), 4))
