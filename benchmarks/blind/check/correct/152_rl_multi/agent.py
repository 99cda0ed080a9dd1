import copy

import torch
import torch.nn.functional as F
from torch import nn


class Agent:
    def __init__(self, n_obs, n_act, lr=1e-3, every=200):
        self.q = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_act))
        self.t = copy.deepcopy(self.q).requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.every, self.n = every, 0

    @torch.no_grad()
    def act(self, s):
        return self.q(s).argmax(-1)

    def learn(self, batch):
        s, a, r, s2, d = batch
        best = self.q(s2).argmax(1, keepdim=True)
        y = r + 0.99 * (1 - d) * self.t(s2).gather(1, best).squeeze(1)
        loss = F.huber_loss(self.q(s).gather(1, a[:, None]).squeeze(1), y)
        self._descend(loss)
        self.n += 1
        if self.n % self.every == 0:
            self.t.load_state_dict(self.q.state_dict())
        return loss.item()

    def _descend(self, loss):
        self.opt.zero_grad()
        loss.backward()
        for p in self.q.parameters():
            p.grad.clamp_(-1, 1)
        self.opt.step()
