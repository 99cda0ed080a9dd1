from torch import nn


class Small(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, 2 * d)
        self.b = nn.Linear(2 * d, 1)

    def forward(self, x):
        return self.b(self.a(x).relu()).squeeze(-1)
