import torch
from torch import nn


def chunks(seq, n):
    for i in range(0, len(seq), n):
        yield seq[i:i + n]


model = nn.Linear(16, 100)
optim = torch.optim.AdamW(model.parameters(), lr=1e-3)
dataset = [(torch.randn(k % 5 + 1, 16), torch.randint(0, 100, (k % 5 + 1,))) for k in range(64)]
for epoch in range(3):
    for group in chunks(dataset, 4):
        tokens = sum(y.numel() for _, y in group)
        for x, y in group:
            loss = nn.functional.cross_entropy(model(x), y, reduction="sum") / tokens
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        optim.zero_grad()
