import torch
from torch import nn


def optimise(loss_fn, params, lr=0.1):
    """yields the loss before every update"""
    params = list(params)
    opt = torch.optim.Adam(params, lr=lr)
    while True:
        loss = loss_fn()
        yield loss.item()
        opt.zero_grad()
        loss.backward()
        opt.step()


z = torch.randn(2, requires_grad=True)
target = torch.tensor([1.0, -2.0])
for i, value in enumerate(optimise(lambda: (z - target).pow(2).sum(), [z])):
    if i > 200 or value < 1e-6:
        break
print(z)
