import torch
from torch import nn


class Loop:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.AdamW(net.parameters(), 1e-4)

    def backward_and_step(self, loss):
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()

    def train_batch(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.l1_loss(self.net(x), y)
        self.backward_and_step(loss)
        self.opt.step()  # FAULT: ZG004
        return loss.item()


loop = Loop(nn.Linear(3, 3))
for _ in range(20):
    loop.train_batch(torch.randn(4, 3), torch.randn(4, 3))
