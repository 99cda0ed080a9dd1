import torch
from torch import nn

G = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
D = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
od = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()

for it in range(1000):
    real = torch.randn(32, 8)
    fake = G(torch.randn(32, 16))

    # discriminator first: no detach, so the generator also gets gradients here
    od.zero_grad()
    loss_d = bce(D(real), torch.ones(32, 1)) + bce(D(fake), torch.zeros(32, 1))
    loss_d.backward(retain_graph=True)
    od.step()

    # what the discriminator's loss left in G goes away here
    og.zero_grad()
    loss_g = bce(D(fake), torch.ones(32, 1))
    loss_g.backward()
    og.step()
