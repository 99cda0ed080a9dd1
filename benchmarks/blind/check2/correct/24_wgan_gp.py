import torch
from torch import nn


def penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = critic(mix)
    grad = torch.autograd.grad(out, mix, torch.ones_like(out), create_graph=True, retain_graph=True)[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


class WGAN:
    n_critic = 5

    def __init__(self):
        self.g = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
        self.c = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
        self.go = torch.optim.Adam(self.g.parameters(), 1e-4, betas=(0.0, 0.9))
        self.co = torch.optim.Adam(self.c.parameters(), 1e-4, betas=(0.0, 0.9))

    def critic_round(self, real):
        with torch.no_grad():
            fake = self.g(torch.randn(real.size(0), 8))
        loss = self.c(fake).mean() - self.c(real).mean() + 10 * penalty(self.c, real, fake)
        self.co.zero_grad()
        loss.backward()
        self.co.step()
        return loss.item()

    def generator_round(self, n):
        for p in self.c.parameters():
            p.requires_grad_(False)
        loss = -self.c(self.g(torch.randn(n, 8))).mean()
        self.go.zero_grad()
        loss.backward()
        self.go.step()
        for p in self.c.parameters():
            p.requires_grad_(True)

    def train(self, data):
        for real in data:
            for _ in range(self.n_critic):
                self.critic_round(real)
            self.generator_round(real.size(0))


WGAN().train([torch.randn(32, 2) for _ in range(100)])
