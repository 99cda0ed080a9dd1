import torch
from torch import nn

cell = nn.GRUCell(3, 9)
read = nn.Linear(9, 3)
boss = torch.optim.Adam([*cell.parameters(), *read.parameters()], 1e-3)
K = 7

for song in [torch.randn(50, 4, 3) for _ in range(10)]:
    h = torch.zeros(4, 9)
    bits = []
    for t in range(len(song) - 1):
        h = cell(song[t], h)
        bits.append((read(h) - song[t + 1]).pow(2).mean())
        if len(bits) == K or t == len(song) - 2:
            boss.zero_grad()
            (sum(bits) / len(bits)).backward()
            boss.step()
            bits.clear()
            h = h.detach()
