import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.mu, self.lv = nn.Linear(784, 100), nn.Linear(100, 10), nn.Linear(100, 10)
        self.c2 = nn.Sequential(nn.Linear(10, 100), nn.ReLU(), nn.Linear(100, 784), nn.Sigmoid())

    def forward(self, x):
        h = F.relu(self.fc1(x))
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.exp(0.5 * lv) * torch.randn_like(lv)
        return self.c2(z), mu, lv


def elbo(recon, x, mu, lv):
    return F.binary_cross_entropy(recon, x, reduction="sum") - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())


thing = VAE()
o1 = torch.optim.Adam(thing.parameters(), lr=1e-3)
train_loss = 0
for batch_idx, u in enumerate(torch.rand(640, 784).split(64)):
    o1.zero_grad()
    recon, mu, lv = thing(u)
    q = elbo(recon, u, mu, lv)
    q.backward()
    train_loss += q.item()
    o1.step()
print(train_loss / 640)
