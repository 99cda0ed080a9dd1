from typing import Callable

import torch
from torch import nn


class Callback:
    def on_batch_begin(self, trainer): ...
    def after_backward(self, trainer): ...
    def on_batch_end(self, trainer, loss): ...


class ClearGrads(Callback):
    def on_batch_begin(self, trainer):
        trainer.optimizer.zero_grad(set_to_none=True)


class ClipGrads(Callback):
    def __init__(self, limit):
        self.limit = limit

    def after_backward(self, trainer):
        nn.utils.clip_grad_norm_(trainer.model.parameters(), self.limit)


class Meter(Callback):
    def __init__(self):
        self.total, self.count = 0.0, 0

    def on_batch_end(self, trainer, loss):
        self.total += loss.item()
        self.count += 1


class Trainer:
    def __init__(self, model, optimizer, loss_fn: Callable, callbacks):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.callbacks = list(callbacks)

    def fire(self, event, *args):
        for cb in self.callbacks:
            getattr(cb, event)(self, *args)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for x, y in loader:
                self.fire("on_batch_begin")
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                self.fire("after_backward")
                self.optimizer.step()
                self.fire("on_batch_end", loss)


model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
meter = Meter()
trainer = Trainer(model, torch.optim.Adam(model.parameters()), nn.MSELoss(), [ClearGrads(), ClipGrads(1.0), meter])
trainer.fit([(torch.randn(4, 8), torch.randn(4, 1)) for _ in range(10)], 2)
print(meter.total / meter.count)
