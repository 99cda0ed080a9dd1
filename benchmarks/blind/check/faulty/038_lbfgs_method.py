import torch
from torch import nn


class Calibrator(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(1) * 1.5)

    def fit(self, logits, labels):
        optimizer = torch.optim.LBFGS([self.temperature], lr=0.01, max_iter=50)
        nll = nn.CrossEntropyLoss()

        def evaluate():
            loss = nll(logits / self.temperature, labels)
            loss.backward()
            return loss

        optimizer.step(evaluate)  # FAULT: ZG009
        return self


Calibrator().fit(torch.randn(100, 5), torch.randint(0, 5, (100,)))
