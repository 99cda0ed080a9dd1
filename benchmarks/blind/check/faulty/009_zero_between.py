import torch
from torch import nn

model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss()
loader = [(torch.randn(8, 10), torch.randint(0, 2, (8,))) for _ in range(40)]

for epoch in range(3):
    for inputs, labels in loader:
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()  # FAULT: ZG002
    print(epoch, loss.item())
