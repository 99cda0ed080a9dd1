import torch
from torch import nn
from hooks import Clip, Print


class Trainer:
    def __init__(self, model, hooks):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.hooks = hooks

    def fit(self, loader):
        for x, y in loader:
            for h in self.hooks:
                h.before(self)
            self.loss = nn.functional.mse_loss(self.model(x), y)
            self.loss.backward()
            for h in self.hooks:
                h.after(self)
            self.optimizer.step()  # FAULT: ZG001


def main():
    loader = [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(50)]
    Trainer(nn.Linear(3, 1), [Clip(), Print()]).fit(loader)


main()
