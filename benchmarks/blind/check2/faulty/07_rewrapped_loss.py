import torch
from torch import nn

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    value = nn.functional.mse_loss(net(x), y).item()
    loss = torch.tensor(value, requires_grad=True)
    opt.zero_grad()
    loss.backward()
    opt.step()  # FAULT: ZG003
