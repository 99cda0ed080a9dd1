import torch
from torch import nn

body = nn.Linear(6, 6)
tail = nn.Linear(6, 1)
opts = {"body": torch.optim.SGD(body.parameters(), lr=0.1), "tail": torch.optim.SGD(tail.parameters(), lr=0.01)}
for x in torch.randn(100, 8, 6):
    opts["body"].zero_grad()
    loss = tail(body(x).relu()).pow(2).mean()
    loss.backward()
    for opt in opts.values():
        opt.step()  # FAULT: ZG006
