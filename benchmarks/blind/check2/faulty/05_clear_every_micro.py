import torch
from torch import nn

ACC = 4
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i, x in enumerate(torch.randn(64, 8, 5)):
    opt.zero_grad()  # FAULT: ZG002
    loss = net(x).pow(2).mean() / ACC
    loss.backward()
    if (i + 1) % ACC == 0:
        opt.step()
