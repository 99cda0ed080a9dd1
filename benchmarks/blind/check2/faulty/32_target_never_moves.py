import copy
import torch
from torch import nn


class DQN:
    def __init__(self, tau=0.01):
        self.q = nn.Linear(4, 2)
        self.target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.tau = tau

    def sync(self):
        for mine, theirs in zip(self.target.parameters(), self.q.parameters()):
            mine = self.tau * theirs + (1 - self.tau) * mine  # FAULT: ZG304

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            goal = r + 0.99 * self.target(s2).max(-1).values
        loss = nn.functional.mse_loss(self.q(s).gather(1, a[:, None]).squeeze(1), goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sync()


agent = DQN()
for _ in range(100):
    agent.learn(torch.randn(32, 4), torch.randint(0, 2, (32,)), torch.randn(32), torch.randn(32, 4))
