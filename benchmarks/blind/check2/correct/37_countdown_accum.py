import torch
from torch import nn

WINDOW = 3
net = nn.Linear(7, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
left = WINDOW
for x in torch.randn(90, 4, 7):
    loss = net(x).pow(2).mean().div(WINDOW)
    loss.backward()
    left -= 1
    if left == 0:
        opt.step()
        opt.zero_grad()
        left = WINDOW
