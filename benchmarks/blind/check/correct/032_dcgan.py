import torch
import torch.nn as nn
import torch.optim as optim

nz, ngf, ndf = 100, 64, 64
p1 = nn.Sequential(nn.ConvTranspose2d(nz, ngf, 4, 1, 0), nn.BatchNorm2d(ngf), nn.ReLU(True), nn.ConvTranspose2d(ngf, 3, 4, 2, 1), nn.Tanh())
p2 = nn.Sequential(nn.Conv2d(3, ndf, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(ndf, 1, 4, 1, 0), nn.Flatten(0))
eps_fn = nn.BCEWithLogitsLoss()
k2 = optim.Adam(p2.parameters(), lr=2e-4, betas=(0.5, 0.999))
k1 = optim.Adam(p1.parameters(), lr=2e-4, betas=(0.5, 0.999))
dataloader = [torch.rand(16, 3, 8, 8) * 2 - 1 for _ in range(20)]

for epoch in range(5):
    for i, true_ in enumerate(dataloader):
        # (1) D: maximize log(D(x)) + log(1 - D(G(z)))
        p2.zero_grad()
        label = torch.full((true_.size(0),), 1.0)
        e1 = eps_fn(p2(true_), label)
        e1.backward()
        noise = torch.randn(true_.size(0), nz, 1, 1)
        made = p1(noise)
        label.fill_(0.0)
        e2 = eps_fn(p2(made.detach()), label)
        e2.backward()
        e3 = e1 + e2
        k2.step()
        # (2) G: maximize log(D(G(z)))
        p1.zero_grad()
        label.fill_(1.0)
        e4 = eps_fn(p2(made), label)
        e4.backward()
        k1.step()
        if i % 10 == 0:
            print(epoch, i, e3.item(), e4.item())
