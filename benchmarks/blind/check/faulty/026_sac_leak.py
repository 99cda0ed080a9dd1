import torch
import torch.nn.functional as F
from torch import nn


class Agent:
    def __init__(self, s, a):
        self.actor = nn.Sequential(nn.Linear(s, 32), nn.ReLU(), nn.Linear(32, a), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(s + a, 32), nn.ReLU(), nn.Linear(32, 1))
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), 1e-4)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), 1e-3)

    def update(self, s, a, r):
        self.actor_opt.zero_grad()
        self.critic_opt.zero_grad()
        actor_loss = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        actor_loss.backward()
        self.actor_opt.step()
        critic_loss = F.mse_loss(self.critic(torch.cat([s, a], 1)), r)
        critic_loss.backward()
        self.critic_opt.step()  # FAULT: ZG005


agent = Agent(3, 2)
for _ in range(100):
    agent.update(torch.randn(16, 3), torch.rand(16, 2), torch.randn(16, 1))
