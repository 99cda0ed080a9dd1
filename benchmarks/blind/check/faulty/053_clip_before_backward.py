import torch
from torch import nn


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), 1e-3)

    def learn(self, s, a, ret):
        logp = self.net(s).log_softmax(-1).gather(1, a[:, None]).squeeze(1)
        loss = -(logp * ret).mean()
        self.opt.zero_grad()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)  # FAULT: ZG302
        loss.backward()
        self.opt.step()


agent = Agent()
for _ in range(100):
    agent.learn(torch.randn(16, 4), torch.randint(0, 2, (16,)), torch.randn(16))
