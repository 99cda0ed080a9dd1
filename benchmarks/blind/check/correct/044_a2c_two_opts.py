import torch
from torch import nn


class Actor(nn.Linear):
    def forward(self, s):
        return torch.distributions.Categorical(logits=super().forward(s))


def returns(rs, last, g):
    out = []
    for r in rs.flip(0):
        last = r + g * last
        out.insert(0, last)
    return torch.stack(out)


pi, vf = Actor(6, 3), nn.Linear(6, 1)
ka, kb = torch.optim.Adam(pi.parameters(), 1e-3), torch.optim.Adam(vf.parameters(), 1e-2)
for it in range(100):
    s = torch.randn(20, 6)
    d = pi(s)
    a = d.sample()
    r = torch.randn(20)
    v = vf(s).squeeze(-1)
    R = returns(r, torch.zeros(()), 0.9)
    adv = R - v
    v3 = -(d.log_prob(a) * adv.detach()).mean()
    v4 = adv.pow(2).mean()

    ka.zero_grad()
    kb.zero_grad()
    v3.backward()
    v4.backward()
    nn.utils.clip_grad_norm_(pi.parameters(), 0.5)
    ka.step()
    nn.utils.clip_grad_norm_(vf.parameters(), 0.5)
    kb.step()
