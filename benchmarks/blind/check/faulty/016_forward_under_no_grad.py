import torch
from torch import nn


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(10, 10)
        self.head = nn.Linear(10, 2)

    def forward(self, x):
        with torch.no_grad():
            h = self.body(x)
        return self.head(h)


model = Probe()
body_opt = torch.optim.SGD(model.body.parameters(), lr=0.01)
head_opt = torch.optim.SGD(model.head.parameters(), lr=0.1)
for _ in range(40):
    x, y = torch.randn(8, 10), torch.randint(0, 2, (8,))
    body_opt.zero_grad()
    head_opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    head_opt.step()
    body_opt.step()  # FAULT: ZG003
