import torch
from torch import nn

alpha = nn.Linear(6, 2)
beta = torch.optim.SGD(alpha.parameters(), lr=0.1)
for _ in range(60):
    u, v = torch.randn(5, 6), torch.randint(0, 2, (5,))
    c = nn.functional.cross_entropy(alpha(u), v)
    c = torch.tensor(c.item(), requires_grad=True)
    beta.zero_grad()
    c.backward()
    beta.step()  # FAULT: ZG003
