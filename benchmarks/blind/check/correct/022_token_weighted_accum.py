import torch
import torch.nn.functional as F
from torch import nn


class LM(nn.Module):
    def __init__(self, v=100, d=32):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, v)

    def forward(self, t):
        return self.out(self.rnn(self.emb(t))[0])


def sample():
    n = int(torch.randint(5, 20, ()))
    return torch.randint(1, 100, (4, n))


lm = LM()
opt = torch.optim.Adam(lm.parameters(), 1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=100)
for update in range(100):
    micro = [sample() for _ in range(4)]
    tokens = sum(m[:, 1:].numel() for m in micro)
    opt.zero_grad()
    for m in micro:
        logits = lm(m[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), m[:, 1:].flatten(), reduction="sum")
        (loss / tokens).backward()
    nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
    opt.step()
    sched.step()
