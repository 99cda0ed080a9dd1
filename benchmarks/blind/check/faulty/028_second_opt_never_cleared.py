import torch
from torch import nn

backbone = nn.Sequential(nn.Linear(30, 30), nn.ReLU())
head = nn.Linear(30, 3)
opt_backbone = torch.optim.SGD(backbone.parameters(), lr=1e-3)
opt_head = torch.optim.SGD(head.parameters(), lr=1e-2)

for x, y in [(torch.randn(8, 30), torch.randint(0, 3, (8,))) for _ in range(60)]:
    opt_backbone.zero_grad()
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    loss.backward()
    opt_backbone.step()
    opt_head.step()  # FAULT: ZG006
