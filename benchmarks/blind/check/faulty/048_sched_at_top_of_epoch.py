import torch
from torch import nn
from torch.optim import lr_scheduler

model = nn.Linear(12, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = lr_scheduler.MultiStepLR(optimizer, milestones=[10, 20], gamma=0.1)
loader = [(torch.randn(8, 12), torch.randint(0, 3, (8,))) for _ in range(20)]

for epoch in range(30):
    scheduler.step()  # FAULT: ZG301
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
