import torch
from torch import nn

model = nn.Linear(10, 4)
centers = nn.Linear(4, 6, bias=False)
opt_model = torch.optim.SGD(model.parameters(), lr=0.01)
opt_center = torch.optim.SGD(centers.parameters(), lr=0.5)

for _ in range(100):
    x, y = torch.randn(12, 10), torch.randint(0, 6, (12,))
    model.zero_grad()
    feat = model(x)
    loss = nn.functional.cross_entropy(centers(feat), y) + 0.1 * (feat - centers.weight[y]).pow(2).mean()
    loss.backward()
    opt_model.step()
    opt_center.step()  # FAULT: ZG006
