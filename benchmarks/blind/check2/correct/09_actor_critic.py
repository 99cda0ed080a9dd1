import torch
from torch import nn


class ActorCritic:
    def __init__(self, obs=4, act=2):
        self.actor = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.critic = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.optims = {
            "actor": torch.optim.Adam(self.actor.parameters(), 3e-4),
            "critic": torch.optim.Adam(self.critic.parameters(), 1e-3),
        }

    def _apply(self, key, loss):
        opt = self.optims[key]
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(getattr(self, key).parameters(), 0.5)
        opt.step()

    def update(self, obs, actions, returns):
        values = self.critic(obs).squeeze(-1)
        advantage = (returns - values).detach()
        dist = torch.distributions.Categorical(logits=self.actor(obs))
        self._apply("actor", -(dist.log_prob(actions) * advantage).mean() - 0.01 * dist.entropy().mean())
        self._apply("critic", nn.functional.smooth_l1_loss(values, returns))


agent = ActorCritic()
for _ in range(100):
    agent.update(torch.randn(64, 4), torch.randint(0, 2, (64,)), torch.randn(64))
