import itertools

import torch
from torch import nn

c1 = nn.Linear(784, 10)
c2 = nn.Sequential(nn.Linear(10, 784), nn.Sigmoid())
c3 = nn.Sequential(nn.Linear(10, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
bce, l1 = nn.BCELoss(), nn.L1Loss()
s1 = torch.optim.Adam(itertools.chain(c1.parameters(), c2.parameters()), lr=2e-4)
s2 = torch.optim.Adam(c3.parameters(), lr=2e-4)

for epoch in range(3):
    for imgs in [torch.rand(16, 784) for _ in range(20)]:
        valid = torch.ones(imgs.size(0), 1)
        made = torch.zeros(imgs.size(0), 1)

        s1.zero_grad()
        encoded = c1(imgs)
        decoded = c2(encoded)
        v1 = 0.001 * bce(c3(encoded), valid) + 0.999 * l1(decoded, imgs)
        v1.backward()
        s1.step()

        s2.zero_grad()
        z = torch.randn(imgs.size(0), 10)
        v2 = 0.5 * (bce(c3(z), valid) + bce(c3(encoded.detach()), made))
        v2.backward()
        s2.step()
