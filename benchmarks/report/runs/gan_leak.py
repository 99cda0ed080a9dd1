"""A GAN whose discriminator is never cleared of what the generator's backward leaves in it."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), lr=2e-3), torch.optim.SGD(D.parameters(), lr=2e-2)
bce = nn.BCEWithLogitsLoss()
real_label, fake_label = torch.ones(64, 1), torch.zeros(64, 1)
for _ in range(40):
    real, fake = torch.randn(64, 2) + 2, G(torch.randn(64, 8))
    d_loss = bce(D(real), real_label) + bce(D(fake.detach()), fake_label)
    d_loss.backward()
    opt_d.step()
    opt_d.zero_grad()

    opt_g.zero_grad()
    g_loss = bce(D(fake), real_label)
    g_loss.backward()
    opt_g.step()
