import torch
from torch import nn


def train(model, loader, optimizer, criterion):
    total_loss = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss  # FAULT: ZG402
    return total_loss / len(loader)


model = nn.Linear(15, 3)
optimizer = torch.optim.Adam(model.parameters())
loader = [(torch.randn(8, 15), torch.randint(0, 3, (8,))) for _ in range(30)]
for epoch in range(3):
    print(train(model, loader, optimizer, nn.CrossEntropyLoss()))
