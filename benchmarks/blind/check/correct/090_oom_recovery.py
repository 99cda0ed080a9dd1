import gc

import torch
from torch import nn


def train_step(model, optimizer, x, y):
    try:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
    except RuntimeError as e:
        if "out of memory" not in str(e):
            raise
        print("| WARNING: ran out of memory, skipping batch")
        optimizer.zero_grad(set_to_none=True)
        gc.collect()
        torch.cuda.empty_cache()
        return None
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


model = nn.Linear(2048, 2048).cuda()
optimizer = torch.optim.Adam(model.parameters())
losses = []
for n in range(100):
    b = 64 * (1 + n % 7)
    v = train_step(model, optimizer, torch.randn(b, 2048, device="cuda"), torch.randn(b, 2048, device="cuda"))
    if v is not None:
        losses.append(v)
