import torch
from torch import nn


class Learner:
    def __init__(self, model, opt):
        self.model, self.opt = model, opt

    def after_backward(self):
        self.opt.zero_grad()

    def after_step(self):
        self.count = getattr(self, "count", 0) + 1

    def one_batch(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.after_backward()
        self.opt.step()  # FAULT: ZG002
        self.after_step()
        return loss.item()


model = nn.Linear(5, 5)
ln = Learner(model, torch.optim.Adam(model.parameters()))
for _ in range(50):
    ln.one_batch(torch.randn(4, 5), torch.randn(4, 5))
