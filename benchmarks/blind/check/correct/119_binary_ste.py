import torch
from torch import nn
import torch.nn.functional as F


class BinLinear(nn.Linear):
    def forward(self, x):
        if not hasattr(self.weight, "org"):
            self.weight.org = self.weight.data.clone()
        self.weight.data = self.weight.org.sign()
        return F.linear(x, self.weight, self.bias)


model = nn.Sequential(BinLinear(64, 32), nn.BatchNorm1d(32), nn.Hardtanh(), BinLinear(32, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for data, target in [(torch.randn(16, 64), torch.randint(0, 10, (16,))) for _ in range(40)]:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(data), target)
    loss.backward()
    for p in model.parameters():
        if hasattr(p, "org"):
            p.data.copy_(p.org)
    optimizer.step()
    for p in model.parameters():
        if hasattr(p, "org"):
            p.org.copy_(p.data.clamp_(-1, 1))
