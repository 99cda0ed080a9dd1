import torch
import torch.nn.functional as F
from torch import nn


class SkipGram(nn.Module):
    def __init__(self, v, d):
        super().__init__()
        self.u, self.c = nn.Embedding(v, d), nn.Embedding(v, d)

    def forward(self, center, pos, neg):
        c = self.u(center)
        good = F.logsigmoid((c * self.c(pos)).sum(-1))
        bad = F.logsigmoid(-(self.c(neg) @ c.unsqueeze(-1)).squeeze(-1)).sum(-1)
        return -(good + bad).mean()


def pairs(n):
    for _ in range(n):
        yield torch.randint(0, 1000, (64,)), torch.randint(0, 1000, (64,)), torch.randint(0, 1000, (64, 5))


sg = SkipGram(1000, 50)
kit = torch.optim.SGD(sg.parameters(), lr=0.5)
run = 0.0
for k, trip in enumerate(pairs(500), start=1):
    val = sg(*trip)
    val.backward()
    kit.step()
    kit.zero_grad()
    run = 0.99 * run + 0.01 * val.item()
    if k % 100 == 0:
        print(k, run)
        for gr in kit.param_groups:
            gr["lr"] *= 0.9
