import torch

from net import Small
from update import update

net = Small(8)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
opt.zero_grad()
for i in range(200):
    x = torch.randn(32, 8)
    loss = update(net, opt, x, x.norm(dim=1), max_norm=5.0)
    if i % 20 == 0:
        print(i, loss.item())
