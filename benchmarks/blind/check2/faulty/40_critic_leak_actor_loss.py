import torch
from torch import nn


class DDPG:
    def __init__(self):
        self.actor = nn.Linear(3, 1)
        self.critic = nn.Linear(4, 1)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-4)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def q(self, s, a):
        return self.critic(torch.cat([s, a], -1))

    def update(self, s, a, r):
        self.actor_opt.zero_grad()
        actor_loss = -self.q(s, self.actor(s).tanh()).mean()
        actor_loss.backward()
        self.actor_opt.step()

        critic_loss = nn.functional.mse_loss(self.q(s, a), r)
        critic_loss.backward()
        self.critic_opt.step()  # FAULT: ZG005
        self.critic_opt.zero_grad()


agent = DDPG()
for _ in range(100):
    agent.update(torch.randn(32, 3), torch.randn(32, 1), torch.randn(32, 1))
