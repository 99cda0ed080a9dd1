import torch
from torch import nn

model = nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
data = [(torch.randn(8, 7), torch.randint(0, 3, (8,))) for _ in range(30)]
for epoch in range(5):
    running = 0.0
    for x, y in data:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        running += loss.item()
        optimizer.step()  # FAULT: ZG003
    scheduler.step()
    print(epoch, running / len(data))
