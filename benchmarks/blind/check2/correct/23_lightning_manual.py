import torch
from torch import nn
import pytorch_lightning as pl


class LitGAN(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.gen = nn.Linear(8, 16)
        self.disc = nn.Linear(16, 1)

    def configure_optimizers(self):
        return [torch.optim.Adam(self.gen.parameters(), 1e-4), torch.optim.Adam(self.disc.parameters(), 4e-4)]

    def training_step(self, batch, batch_idx):
        real, _ = batch
        g_opt, d_opt = self.optimizers()
        z = torch.randn(real.size(0), 8, device=self.device)

        self.toggle_optimizer(d_opt)
        fake = self.gen(z).detach()
        d_loss = nn.functional.softplus(self.disc(fake)).mean() + nn.functional.softplus(-self.disc(real)).mean()
        d_opt.zero_grad()
        self.manual_backward(d_loss)
        d_opt.step()
        self.untoggle_optimizer(d_opt)

        self.toggle_optimizer(g_opt)
        g_loss = nn.functional.softplus(-self.disc(self.gen(z))).mean()
        g_opt.zero_grad()
        self.manual_backward(g_loss)
        g_opt.step()
        self.untoggle_optimizer(g_opt)
        self.log_dict({"g": g_loss, "d": d_loss})


class LitPlain(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.outputs.append(loss.detach())
        return loss

    def on_train_epoch_end(self):
        self.log("epoch_loss", torch.stack(self.outputs).mean())
        self.outputs.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
