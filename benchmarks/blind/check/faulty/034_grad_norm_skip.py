import torch
from torch import nn


class Trainer:
    def __init__(self, net, limit=10.0):
        self.net, self.limit = net, limit
        self.opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
        self.skipped = 0

    def run(self, batches):
        for x, y in batches:
            loss = nn.functional.mse_loss(self.net(x), y)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            if norm > self.limit:
                self.skipped += 1
                continue
            self.opt.step()  # FAULT: ZG007
            self.opt.zero_grad()


t = Trainer(nn.Linear(5, 1))
t.run([(torch.randn(8, 5), torch.randn(8, 1)) for _ in range(100)])
print(t.skipped)
