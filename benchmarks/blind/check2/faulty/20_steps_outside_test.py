import torch
from torch import nn

accumulation_steps = 4
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 10)
for i in range(400):
    x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(net(x), y) / accumulation_steps
    loss.backward()
    opt.step()  # FAULT: ZG106
    opt.zero_grad()
    if (i + 1) % accumulation_steps == 0:
        sched.step()
