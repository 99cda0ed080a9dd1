import copy
import random

import torch
import torch.nn.functional as F
from torch import nn


class Agent:
    def __init__(self, obs, act):
        self.online = nn.Sequential(nn.Linear(obs, 64), nn.ReLU(), nn.Linear(64, act))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), 1e-3)
        self.memory = []

    def remember(self, *row):
        self.memory.append(row)

    def replay(self, n=32):
        s, a, r, s2 = (torch.stack(c) for c in zip(*random.sample(self.memory, n)))
        with torch.no_grad():
            y = r + 0.99 * self.target(s2).max(1).values
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        loss.backward()
        self.optimizer.step()  # FAULT: ZG001
        return loss.item()


agent = Agent(4, 2)
for t in range(1000):
    agent.remember(torch.randn(4), torch.randint(0, 2, ()), torch.randn(()), torch.randn(4))
    if t > 64:
        agent.replay()
    if t % 100 == 0:
        agent.target.load_state_dict(agent.online.state_dict())
