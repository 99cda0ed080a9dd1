import torch
from torch import nn

model = nn.Sequential(nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.cuda.amp.GradScaler()

for x, y in [(torch.randn(8, 40), torch.randint(0, 4, (8,))) for _ in range(50)]:
    optimizer.zero_grad()
    with torch.cuda.amp.autocast():
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    scaler.scale(loss).backward()
    optimizer.step()  # FAULT: ZG202
