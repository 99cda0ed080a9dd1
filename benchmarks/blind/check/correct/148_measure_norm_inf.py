import torch
from torch import nn


def grad_norm(mod):
    return nn.utils.clip_grad_norm_(mod.parameters(), float("inf")).item()


b1 = nn.LSTM(4, 8, batch_first=True)
h1 = nn.Linear(8, 4)
pair = nn.ModuleList([b1, h1])
o1 = torch.optim.Adam(pair.parameters(), 1e-3)
seen = []
for z in torch.randn(100, 6, 10, 4):
    o1.zero_grad()
    out, _ = b1(z[:, :-1])
    (h1(out) - z[:, 1:]).pow(2).mean().backward()
    before = grad_norm(pair)
    nn.utils.clip_grad_norm_(pair.parameters(), 0.5)
    o1.step()
    seen.append((before, grad_norm(pair)))
