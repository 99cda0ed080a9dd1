import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn


class GAN(pl.LightningModule):
    def __init__(self, latent=16, dim=64):
        super().__init__()
        self.automatic_optimization = False
        self.latent = latent
        self.generator = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, dim))
        self.discriminator = nn.Sequential(nn.Linear(dim, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))

    def training_step(self, batch, batch_idx):
        (imgs,) = batch
        g_opt, d_opt = self.optimizers()
        z = torch.randn(imgs.size(0), self.latent, device=self.device)
        ones, zeros = torch.ones(imgs.size(0), 1, device=self.device), torch.zeros(imgs.size(0), 1, device=self.device)

        self.toggle_optimizer(g_opt)
        g_loss = F.binary_cross_entropy_with_logits(self.discriminator(self.generator(z)), ones)
        g_opt.zero_grad()
        self.manual_backward(g_loss)
        g_opt.step()
        self.untoggle_optimizer(g_opt)

        self.toggle_optimizer(d_opt)
        real = F.binary_cross_entropy_with_logits(self.discriminator(imgs), ones)
        fake = F.binary_cross_entropy_with_logits(self.discriminator(self.generator(z).detach()), zeros)
        d_loss = (real + fake) / 2
        d_opt.zero_grad()
        self.manual_backward(d_loss)
        d_opt.step()
        self.untoggle_optimizer(d_opt)
        self.log_dict({"g": g_loss.detach(), "d": d_loss.detach()})

    def configure_optimizers(self):
        return (
            torch.optim.Adam(self.generator.parameters(), lr=2e-4),
            torch.optim.Adam(self.discriminator.parameters(), lr=2e-4),
        )
