import torch
from torch import nn

accumulation_steps = 8
model = nn.Linear(50, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = [(torch.randn(4, 50), torch.randint(0, 5, (4,))) for _ in range(80)]
optimizer.zero_grad()
for i, (x, y) in enumerate(loader):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()  # FAULT: ZG101
    if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
        optimizer.step()
        optimizer.zero_grad()
