import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 32)
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s).tanh()
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


@torch.no_grad()
def rollout(policy, n=128):
    s = torch.randn(n, 4)
    dist, v = policy(s)
    a = dist.sample()
    return s, a, dist.log_prob(a), torch.randn(n), v


def update(policy, opt, batch, epochs=4, size=32, target_kl=0.02):
    s, a, old, ret, v = batch
    adv = ret - v
    for _ in range(epochs):
        for idx in torch.randperm(len(s)).split(size):
            dist, value = policy(s[idx])
            logp = dist.log_prob(a[idx])
            ratio = (logp - old[idx]).exp()
            pg = -torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
            loss = pg + 0.5 * (ret[idx] - value).pow(2).mean() - 0.01 * dist.entropy().mean()
            kl = (old[idx] - logp).mean().item()
            if kl > target_kl:
                return
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            opt.step()


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), 3e-4)
for it in range(50):
    update(policy, opt, rollout(policy))
