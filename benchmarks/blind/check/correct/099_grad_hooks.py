import torch
from torch import nn

alpha = nn.Sequential(nn.Linear(10, 30), nn.ReLU(), nn.Linear(30, 1))
for p in alpha.parameters():
    p.register_hook(lambda grad: torch.clamp(grad, -0.5, 0.5))
norms = []
alpha[0].weight.register_hook(lambda g: norms.append(g.norm().item()))
beta = torch.optim.RMSprop(alpha.parameters(), lr=1e-3, momentum=0.5)

for _ in range(50):
    x = torch.randn(16, 10)
    beta.zero_grad()
    (alpha(x) - x.prod(1, keepdim=True)).pow(2).mean().backward()
    beta.step()
print(max(norms))
