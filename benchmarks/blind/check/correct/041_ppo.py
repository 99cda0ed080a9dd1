import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.z2 = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, act))
        self.z3 = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, 1))

    def evaluate(self, s, a):
        d = Categorical(logits=self.z2(s))
        return d.log_prob(a), self.z3(s).squeeze(-1), d.entropy()


class PPO:
    def __init__(self, obs, act, lr_actor=3e-4, lr_critic=1e-3, K=4, clip=0.2):
        self.z1 = ActorCritic(obs, act)
        self.beta = torch.optim.Adam([
            {"params": self.z1.z2.parameters(), "lr": lr_actor},
            {"params": self.z1.z3.parameters(), "lr": lr_critic},
        ])
        self.K, self.clip = K, clip

    @torch.no_grad()
    def act(self, s):
        d = Categorical(logits=self.z1.z2(s))
        a = d.sample()
        return a, d.log_prob(a), self.z1.z3(s).squeeze(-1)

    def update(self, s, a, old_logp, returns, adv):
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        idx = np.arange(len(s))
        for _ in range(self.K):
            np.random.shuffle(idx)
            for start in range(0, len(s), 32):
                mb = torch.as_tensor(idx[start:start + 32])
                logp, value, ent = self.z1.evaluate(s[mb], a[mb])
                ratio = (logp - old_logp[mb]).exp()
                pg = torch.max(-adv[mb] * ratio, -adv[mb] * ratio.clamp(1 - self.clip, 1 + self.clip)).mean()
                gamma = pg + 0.5 * (value - returns[mb]).pow(2).mean() - 0.01 * ent.mean()
                self.beta.zero_grad()
                gamma.backward()
                nn.utils.clip_grad_norm_(self.z1.parameters(), 0.5)
                self.beta.step()


agent = PPO(4, 2)
for it in range(10):
    s = torch.randn(256, 4)
    a, lp, v = agent.act(s)
    ret = torch.randn(256)
    agent.update(s, a, lp, ret, ret - v)
