import argparse

import numpy as np
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--n_epochs", type=int, default=20)
parser.add_argument("--n_critic", type=int, default=5)
parser.add_argument("--clip_value", type=float, default=0.01)
mover = parser.parse_args()

h1 = nn.Sequential(nn.Linear(100, 128), nn.LeakyReLU(0.2), nn.Linear(128, 64), nn.Tanh())
h2 = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
s1 = torch.optim.RMSprop(h1.parameters(), lr=5e-5)
s2 = torch.optim.RMSprop(h2.parameters(), lr=5e-5)
dataloader = [torch.rand(32, 64) for _ in range(50)]

for epoch in range(mover.n_epochs):
    for i, imgs in enumerate(dataloader):
        s2.zero_grad()
        z = torch.tensor(np.random.normal(0, 1, (imgs.shape[0], 100)), dtype=torch.float32)
        fake_imgs = h1(z).detach()
        v2 = -torch.mean(h2(imgs)) + torch.mean(h2(fake_imgs))
        v2.backward()
        s2.step()
        for p in h2.parameters():
            p.data.clamp_(-mover.clip_value, mover.clip_value)
        if i % mover.n_critic == 0:
            s1.zero_grad()
            v1 = -torch.mean(h2(h1(z)))
            v1.backward()
            s1.step()
