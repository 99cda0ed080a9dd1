import torch
from torch import nn
import torch.nn.functional as F

G, D = nn.Linear(8, 16), nn.Linear(16, 1)
opt_g = torch.optim.Adam(G.parameters(), 2e-4)
opt_d = torch.optim.Adam(D.parameters(), 2e-4)
for it in range(200):
    real = torch.randn(32, 16)
    fake = G(torch.randn(32, 8)).detach()
    opt_d.zero_grad()
    d_loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = F.softplus(-D(fake)).mean()
    g_loss.backward()
    opt_g.step()  # FAULT: ZG003
