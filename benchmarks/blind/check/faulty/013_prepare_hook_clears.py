import torch
from torch import nn


def prepare(model, optimizer, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad(set_to_none=True)


def update(model, optimizer, loss, lr):
    loss.backward()
    prepare(model, optimizer, lr)
    optimizer.step()  # FAULT: ZG002


model = nn.Linear(9, 9)
optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
for i in range(300):
    x = torch.randn(4, 9)
    update(model, optimizer, (model(x) - x).square().mean(), 1e-3 * 0.99 ** i)
