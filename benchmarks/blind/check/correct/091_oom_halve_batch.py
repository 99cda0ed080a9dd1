import torch
from torch import nn


def attempt(net, kit, xb, yb, parts):
    kit.zero_grad()
    for u, v in zip(xb.chunk(parts), yb.chunk(parts)):
        e = nn.functional.cross_entropy(net(u.cuda()), v.cuda(), reduction="sum") / len(yb)
        e.backward()


net = nn.Linear(1000, 10).cuda()
kit = torch.optim.SGD(net.parameters(), 0.1)
parts = 1
for _ in range(50):
    xb, yb = torch.randn(4096, 1000), torch.randint(0, 10, (4096,))
    while True:
        try:
            attempt(net, kit, xb, yb, parts)
            break
        except torch.cuda.OutOfMemoryError:
            parts *= 2
            torch.cuda.empty_cache()
    kit.step()
