import torch
from torch import nn

policy, value = nn.Linear(6, 3), nn.Linear(6, 1)
policy_optimizer = torch.optim.Adam(policy.parameters(), 3e-4)
value_optimizer = torch.optim.Adam(value.parameters(), 1e-3)
for _ in range(100):
    s, a, ret = torch.randn(32, 6), torch.randint(0, 3, (32,)), torch.randn(32)
    adv = ret - value(s).squeeze(1).detach()
    pl = -(policy(s).log_softmax(1).gather(1, a[:, None]).squeeze(1) * adv).mean()
    policy_optimizer.zero_grad()
    pl.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
    policy_optimizer.step()
    vl = (value(s).squeeze(1) - ret).pow(2).mean()
    value_optimizer.zero_grad()
    vl.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.5)  # FAULT: ZG302
    value_optimizer.step()
