import copy
import torch
from torch import nn

policy = nn.Linear(3, 1)
q = nn.Linear(4, 1)
q_target = copy.deepcopy(q).requires_grad_(False)
p_opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
q_opt = torch.optim.Adam(q.parameters(), lr=3e-4)


def polyak(src, dst, tau=0.005):
    with torch.no_grad():
        for s, d in zip(src.parameters(), dst.parameters()):
            d.mul_(1 - tau).add_(s, alpha=tau)


for step in range(500):
    s, a, r, s2 = torch.randn(32, 3), torch.randn(32, 1), torch.randn(32, 1), torch.randn(32, 3)
    with torch.no_grad():
        target = r + 0.99 * q_target(torch.cat([s2, policy(s2).tanh()], 1))
    q_loss = nn.functional.mse_loss(q(torch.cat([s, a], 1)), target)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()

    if step % 2 == 0:
        p_loss = -q(torch.cat([s, policy(s).tanh()], 1)).mean()
        p_opt.zero_grad()
        p_loss.backward()  # also fills q, cleared before q's next backward
        p_opt.step()
        polyak(q, q_target)
