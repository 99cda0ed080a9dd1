import abc

import torch
from torch import nn


class BaseTrainer(abc.ABC):
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = self.configure(lr)
        self.global_step = 0

    def configure(self, lr):
        return torch.optim.SGD(self.model.parameters(), lr=lr)

    @abc.abstractmethod
    def compute_loss(self, batch): ...

    def before_step(self):
        pass

    def training_step(self, batch):
        loss = self.compute_loss(batch)
        loss.backward()
        self.before_step()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.global_step += 1
        return loss.item()

    def fit(self, data, epochs=1):
        for _ in range(epochs):
            for batch in data:
                self.training_step(batch)


class ClipMixin:
    max_norm = 1.0

    def before_step(self):
        super().before_step()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)


class NoiseMixin:
    sigma = 0.01

    def before_step(self):
        super().before_step()
        for p in self.model.parameters():
            p.grad.add_(self.sigma * torch.randn_like(p.grad))


class Regression(NoiseMixin, ClipMixin, BaseTrainer):
    def compute_loss(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.model(x), y)

    def configure(self, lr):
        return torch.optim.Adam(self.model.parameters(), lr=lr)


t = Regression(nn.Linear(6, 1), 1e-3)
t.fit([(torch.randn(4, 6), torch.randn(4, 1)) for _ in range(10)], 3)
print(t.global_step)
