import torch
import torch.nn.functional as F
from torch import nn

peers = [nn.Linear(15, 4) for _ in range(3)]
opts = [torch.optim.SGD(p.parameters(), lr=0.1) for p in peers]

for _ in range(100):
    x, y = torch.randn(12, 15), torch.randint(0, 4, (12,))
    outs = [p(x) for p in peers]
    for i, (out, opt) in enumerate(zip(outs, opts)):
        ce = F.cross_entropy(out, y)
        kl = sum(
            F.kl_div(F.log_softmax(out, 1), F.softmax(other.detach(), 1), reduction="batchmean")
            for j, other in enumerate(outs) if j != i
        )
        loss = ce + kl / (len(peers) - 1)
        opt.zero_grad()
        loss.backward()
        opt.step()
