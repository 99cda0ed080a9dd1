import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

f_ = [(torch.randn(16, 6), torch.randn(16, 1)) for _ in range(20)]
valid = [(torch.randn(16, 6), torch.randn(16, 1)) for _ in range(5)]
m_ = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
p_ = torch.optim.Adam(m_.parameters(), lr=0.01)
s_ = ReduceLROnPlateau(p_, mode="min", factor=0.5, patience=3)
best, bad = float("inf"), 0

for epoch in range(100):
    m_.train()
    for x, y in f_:
        p_.zero_grad()
        nn.functional.mse_loss(m_(x), y).backward()
        p_.step()
    m_.eval()
    with torch.no_grad():
        val = sum(nn.functional.mse_loss(m_(x), y).item() for x, y in valid) / len(valid)
    s_.step(val)
    if val < best:
        best, bad = val, 0
    else:
        bad += 1
        if bad >= 10:
            break
