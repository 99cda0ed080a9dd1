import torch
from torch import nn

net_w = nn.Linear(13, 1)
o1 = torch.optim.SGD(net_w.parameters(), lr=1e-2)
stuff = [(torch.randn(8, 13), torch.randn(8, 1)) for _ in range(25)]

for ep in range(10):
    o1.zero_grad()
    run = 0.0
    for a, b in stuff:
        q = nn.functional.mse_loss(net_w(a), b)
        q.backward()
        nn.utils.clip_grad_norm_(net_w.parameters(), 1.0)
        o1.step()  # FAULT: ZG001
        run += q.item()
    print(ep, run)
