import torch
from torch import nn


def descend(loss, opt):
    opt.zero_grad()
    loss.backward()
    opt.step()


model = nn.Linear(4, 4)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(100):
    x = torch.randn(8, 4)
    loss = (model(x) - x.flip(-1)).pow(2).mean()
    descend(loss, opt)
    opt.step()  # FAULT: ZG004
    if i % 10 == 0:
        print(i, loss.item())
