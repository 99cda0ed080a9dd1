import torch
from torch import nn

p1 = nn.Sequential(nn.Linear(5, 30), nn.ReLU(), nn.Linear(30, 8))
p2 = nn.Sequential(nn.Linear(8, 30), nn.ReLU(), nn.Linear(30, 1))
a1 = torch.optim.Adam(p1.parameters(), 1e-3)
a2 = torch.optim.Adam(p2.parameters(), 1e-3)
sp = nn.functional.softplus

for k in range(500):
    true = torch.randn(20, 8) * 2
    made = p1(torch.randn(20, 5))
    # a1 first; what it leaves in p2 is wiped by a2.zero_grad()
    a1.zero_grad()
    sp(-p2(made)).mean().backward()
    a1.step()
    a2.zero_grad()
    (sp(p2(made.detach())).mean() + sp(-p2(true)).mean()).backward()
    a2.step()
