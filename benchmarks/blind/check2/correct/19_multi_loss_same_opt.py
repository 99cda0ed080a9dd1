import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(20, 8)
        self.dec = nn.Linear(4, 20)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


vae = VAE()
opt = torch.optim.Adam(vae.parameters())
meters = {"rec": 0.0, "kl": 0.0}
for it in range(100):
    x = torch.randn(32, 20)
    out, mu, logvar = vae(x)
    rec = (out - x).pow(2).sum(-1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(-1).mean()
    opt.zero_grad()
    rec.backward(retain_graph=True)
    kl.backward()
    opt.step()
    meters["rec"] += rec.item()
    meters["kl"] += float(kl)
