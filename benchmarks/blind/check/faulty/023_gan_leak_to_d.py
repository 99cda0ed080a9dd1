import torch
from torch import nn

bce = nn.BCEWithLogitsLoss()
netG = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
netD = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
optG = torch.optim.Adam(netG.parameters(), 2e-4)
optD = torch.optim.Adam(netD.parameters(), 2e-4)

for real in [torch.randn(16, 32) for _ in range(100)]:
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    optD.zero_grad()
    optG.zero_grad()
    fake = netG(torch.randn(16, 16))
    loss_g = bce(netD(fake), ones)
    loss_g.backward()
    optG.step()
    loss_d = bce(netD(real), ones) + bce(netD(fake.detach()), zeros)
    loss_d.backward()
    optD.step()  # FAULT: ZG005
