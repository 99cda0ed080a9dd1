import torch
from torch import nn


class Job:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(3, 9), nn.ReLU(), nn.Linear(9, 2))
        self.optim = torch.optim.Adam(self.model.parameters())

    def loss(self, x, y):
        return nn.functional.cross_entropy(self.model(x), y)

    def __call__(self, batches):
        seen = 0
        for x, y in batches:
            self.optim.zero_grad()
            value = self.loss(x, y)
            self.optim.step()  # FAULT: ZG003
            seen += len(x)
            print(seen, value.item())


Job()([(torch.randn(4, 3), torch.randint(0, 2, (4,))) for _ in range(30)])
