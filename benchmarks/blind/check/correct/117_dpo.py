import copy

import torch
import torch.nn.functional as F
from torch import nn


class LM(nn.Module):
    def __init__(self, v=30, d=16):
        super().__init__()
        self.e, self.o = nn.Embedding(v, d), nn.Linear(d, v)

    def logp(self, t):
        lp = self.o(self.e(t[:, :-1])).log_softmax(-1)
        return lp.gather(-1, t[:, 1:, None]).squeeze(-1).sum(1)


z1 = LM()
ref = copy.deepcopy(z1).eval()
for p in ref.parameters():
    p.requires_grad_(False)
p_ = torch.optim.RMSprop(z1.parameters(), lr=5e-5)
warm = torch.optim.lr_scheduler.LambdaLR(p_, lambda s: min(1.0, (s + 1) / 10))
ACC = 2

for step in range(50):
    p_.zero_grad()
    for _ in range(ACC):
        win, lose = torch.randint(0, 30, (4, 12)), torch.randint(0, 30, (4, 12))
        with torch.no_grad():
            rw, rl = ref.logp(win), ref.logp(lose)
        margin = (z1.logp(win) - rw) - (z1.logp(lose) - rl)
        l_ = -F.logsigmoid(0.1 * margin).mean()
        (l_ / ACC).backward()
    gn = nn.utils.clip_grad_norm_(z1.parameters(), 10.0)
    p_.step()
    warm.step()
