import torch
from torch import nn

micro = 4
net = nn.Linear(9, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
it = iter(range(10 ** 6))
for step in range(100):
    opt.zero_grad()
    for _ in range(micro):
        loss = nn.functional.cross_entropy(net(torch.randn(4, 9)), torch.randint(0, 3, (4,)))
        (loss / micro).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # FAULT: ZG302
    opt.step()
