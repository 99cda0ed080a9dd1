import torch
from torch import nn

accum = 4
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
loader = [(torch.randn(8, 8), torch.randint(0, 2, (8,))) for _ in range(60)]
optimizer.zero_grad()
for step, (x, y) in enumerate(loader):
    loss = nn.functional.cross_entropy(model(x), y) / accum
    loss.backward()
    if step % accum == 0:  # FAULT: ZG103
        optimizer.step()
        optimizer.zero_grad()
