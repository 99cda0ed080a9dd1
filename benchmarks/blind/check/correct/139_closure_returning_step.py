import torch
from torch import nn


def make_step(zed, loss_fn, kick):
    def train_step(x, y):
        zed.train()
        yhat = zed(x)
        e1 = loss_fn(y, yhat)
        e1.backward()
        kick.step()
        kick.zero_grad()
        return e1.item()
    return train_step


zed = nn.Linear(1, 1)
train_step = make_step(zed, nn.MSELoss(reduction="mean"), torch.optim.SGD(zed.parameters(), lr=1e-1))
losses = []
for epoch in range(1000):
    x = torch.rand(16, 1)
    losses.append(train_step(x, 1 + 2 * x))
print(zed.state_dict())
