import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUM = 4
box = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
mover = torch.optim.AdamW(box.parameters(), lr=2e-4)
ruler = nn.CrossEntropyLoss()
feed = DataLoader(TensorDataset(torch.randn(1000, 64), torch.randint(0, 8, (1000,))), batch_size=10, shuffle=True)

for epoch in range(3):
    mover.zero_grad()
    for i, (x, y) in enumerate(feed):
        dist0 = ruler(box(x), y) / ACCUM
        dist0.backward()
        if (i + 1) % ACCUM == 0 or (i + 1) == len(feed):
            torch.nn.utils.clip_grad_norm_(box.parameters(), 1.0)
            mover.step()
            mover.zero_grad()
    print(epoch, dist0.item() * ACCUM)
