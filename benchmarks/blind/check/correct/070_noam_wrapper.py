import torch
from torch import nn


class ScheduledOptim:
    """learning rate by hand, as in the transformer paper"""

    def __init__(self, mover, lr_mul, d_model, n_warmup_steps):
        self._optimizer = mover
        self.lr_mul, self.d_model, self.n_warmup_steps = lr_mul, d_model, n_warmup_steps
        self.n_steps = 0

    def step_and_update_lr(self):
        self._update_learning_rate()
        self._optimizer.step()

    def zero_grad(self):
        self._optimizer.zero_grad()

    def _get_lr_scale(self):
        return (self.d_model ** -0.5) * min(self.n_steps ** -0.5, self.n_steps * self.n_warmup_steps ** -1.5)

    def _update_learning_rate(self):
        self.n_steps += 1
        lr = self.lr_mul * self._get_lr_scale()
        for group in self._optimizer.param_groups:
            group["lr"] = lr


box = nn.TransformerEncoderLayer(16, 2, 32)
mover = ScheduledOptim(torch.optim.Adam(box.parameters(), betas=(0.9, 0.98), eps=1e-9), 2.0, 16, 400)
for i in range(100):
    src = torch.randn(5, 3, 16)
    mover.zero_grad()
    dist0 = (box(src) - src).pow(2).mean()
    dist0.backward()
    mover.step_and_update_lr()
