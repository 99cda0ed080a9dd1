import torch
from torch import nn


class Run:
    def __init__(self, net, total):
        self.net = net
        self.opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
        self.pace = torch.optim.lr_scheduler.OneCycleLR(self.opt, max_lr=1e-2, total_steps=total + 1)

    def once(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.pace.step()  # FAULT: ZG301
        self.opt.step()
        return loss.item()


r = Run(nn.Linear(4, 1), 100)
for _ in range(100):
    r.once(torch.randn(8, 4), torch.randn(8, 1))
