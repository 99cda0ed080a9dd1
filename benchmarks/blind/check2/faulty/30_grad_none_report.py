import torch
from torch import nn

net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    loss = net(torch.randn(8, 5)).pow(2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    norm = net.weight.grad.norm().item()  # FAULT: ZG303
    print(step, loss.item(), norm)
