import copy

import torch
import torch.nn.functional as F
from torch import nn


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.ReLU(), nn.Linear(64, o))


class SAC:
    def __init__(self, S, A, gamma=0.99, tau=0.005):
        self.actor = mlp(S, 2 * A)
        self.q1, self.q2 = mlp(S + A, 1), mlp(S + A, 1)
        self.t1, self.t2 = copy.deepcopy(self.q1), copy.deepcopy(self.q2)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.target_entropy = -A
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), 3e-4)
        self.critic_opt = torch.optim.Adam(list(self.q1.parameters()) + list(self.q2.parameters()), 3e-4)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], 3e-4)
        self.gamma, self.tau = gamma, tau

    def sample(self, s):
        mu, ls = self.actor(s).chunk(2, -1)
        d = torch.distributions.Normal(mu, ls.clamp(-5, 2).exp())
        u = d.rsample()
        a = torch.tanh(u)
        return a, (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)

    def learn(self, s, a, r, s2, done):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            a2, lp2 = self.sample(s2)
            sa2 = torch.cat([s2, a2], -1)
            y = r + self.gamma * (1 - done) * (torch.min(self.t1(sa2), self.t2(sa2)) - alpha * lp2)
        sa = torch.cat([s, a], -1)
        critic_loss = F.mse_loss(self.q1(sa), y) + F.mse_loss(self.q2(sa), y)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        pi, lp = self.sample(s)
        spi = torch.cat([s, pi], -1)
        actor_loss = (alpha * lp - torch.min(self.q1(spi), self.q2(spi))).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        alpha_loss = -(self.log_alpha.exp() * (lp + self.target_entropy).detach()).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()

        with torch.no_grad():
            for net, tgt in ((self.q1, self.t1), (self.q2, self.t2)):
                for p, t in zip(net.parameters(), tgt.parameters()):
                    t.lerp_(p, self.tau)


agent = SAC(3, 1)
for _ in range(100):
    agent.learn(torch.randn(32, 3), torch.rand(32, 1), torch.randn(32, 1), torch.randn(32, 3), torch.zeros(32, 1))
