import torch
from torch import nn


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(12, 24), nn.Linear(24, 3)

    def forward(self, x):
        return self.b(self.a(x).relu())


net_w = Two()
net_w.a.requires_grad_(False)
o1 = torch.optim.Adam([p for p in net_w.parameters() if p.requires_grad], lr=1e-3)
rows = [(torch.randn(8, 12), torch.randint(0, 3, (8,))) for _ in range(20)]
for ep in range(6):
    if ep == 3:
        net_w.a.requires_grad_(True)
        o1.add_param_group({"params": net_w.a.parameters(), "lr": 1e-4})
    for u, v in rows:
        o1.zero_grad()
        nn.functional.cross_entropy(net_w(u), v).backward()
        o1.step()
