import copy

import torch
import torch.nn.functional as F
from torch import nn


class Critic(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.a = nn.Linear(s + a, 1)
        self.b = nn.Linear(s + a, 1)

    def forward(self, s, a):
        sa = torch.cat([s, a], 1)
        return self.a(sa), self.b(sa)

    def Q1(self, s, a):
        return self.a(torch.cat([s, a], 1))


class TD3:
    def __init__(self, s, a):
        self.z2 = nn.Sequential(nn.Linear(s, a), nn.Tanh())
        self.actor_target = copy.deepcopy(self.z2)
        self.ka = torch.optim.Adam(self.z2.parameters(), lr=3e-4)
        self.z3 = Critic(s, a)
        self.critic_target = copy.deepcopy(self.z3)
        self.kb = torch.optim.Adam(self.z3.parameters(), lr=3e-4)
        self.policy_freq, self.total_it = 2, 0

    def train(self, state, action, next_state, reward):
        self.total_it += 1
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            na = (self.actor_target(next_state) + noise).clamp(-1, 1)
            target_Q = reward + 0.99 * torch.min(*self.critic_target(next_state, na))
        q1, q2 = self.z3(state, action)
        v4 = F.mse_loss(q1, target_Q) + F.mse_loss(q2, target_Q)
        self.kb.zero_grad()
        v4.backward()
        self.kb.step()
        if self.total_it % self.policy_freq == 0:
            v3 = -self.z3.Q1(state, self.z2(state)).mean()
            self.ka.zero_grad()
            v3.backward()
            self.ka.step()
            for p, tp in zip(self.z3.parameters(), self.critic_target.parameters()):
                tp.data.copy_(0.005 * p.data + 0.995 * tp.data)
            for p, tp in zip(self.z2.parameters(), self.actor_target.parameters()):
                tp.data.copy_(0.005 * p.data + 0.995 * tp.data)


t = TD3(3, 1)
for _ in range(30):
    t.train(torch.randn(8, 3), torch.rand(8, 1), torch.randn(8, 3), torch.randn(8, 1))
