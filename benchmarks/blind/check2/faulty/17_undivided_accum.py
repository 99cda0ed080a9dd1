import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

grad_accum = 8
model = nn.Linear(10, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(640, 10), torch.randint(0, 2, (640,))), batch_size=8)
for epoch in range(3):
    for step, (x, y) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()  # FAULT: ZG101
        if step % grad_accum == 0:
            opt.step()
            opt.zero_grad()
