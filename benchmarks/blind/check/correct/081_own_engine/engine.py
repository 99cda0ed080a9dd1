import torch
from torch import nn


class Engine:
    def __init__(self, module, *, lr, micro, clip=None):
        self.module, self.micro, self.clip = module, micro, clip
        self.inner = torch.optim.AdamW(module.parameters(), lr=lr)
        self.ticks = 0

    def __call__(self, *a, **k):
        return self.module(*a, **k)

    @property
    def boundary(self):
        return self.ticks % self.micro == 0

    def backward(self, loss):
        (loss / self.micro).backward()
        self.ticks += 1

    def step(self):
        if not self.boundary:
            return False
        if self.clip:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
        self.inner.step()
        self.inner.zero_grad(set_to_none=True)
        return True
