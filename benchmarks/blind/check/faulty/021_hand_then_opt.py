import torch
from torch import nn

model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
lr = 0.01
for x, y in [(torch.randn(16, 6), torch.randn(16, 1)) for _ in range(50)]:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)
    optimizer.step()  # FAULT: ZG004
