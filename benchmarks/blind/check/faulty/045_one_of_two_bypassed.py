import torch
from torch import nn
import torch.nn.functional as F


class GAN:
    def __init__(self):
        self.G, self.D = nn.Linear(8, 20).cuda(), nn.Linear(20, 1).cuda()
        self.opt_G = torch.optim.Adam(self.G.parameters(), 2e-4)
        self.opt_D = torch.optim.Adam(self.D.parameters(), 2e-4)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, real):
        z = torch.randn(len(real), 8, device="cuda")
        self.opt_D.zero_grad()
        with torch.autocast("cuda"):
            fake = self.G(z)
            d_loss = F.softplus(self.D(fake.detach())).mean() + F.softplus(-self.D(real)).mean()
        self.scaler.scale(d_loss).backward()
        self.scaler.step(self.opt_D)
        self.opt_G.zero_grad()
        with torch.autocast("cuda"):
            g_loss = F.softplus(-self.D(fake)).mean()
        self.scaler.scale(g_loss).backward()
        self.opt_G.step()  # FAULT: ZG202
        self.scaler.update()


gan = GAN()
for _ in range(100):
    gan.step(torch.randn(16, 20, device="cuda"))
